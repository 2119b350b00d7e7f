"""What decides a verdict: rules, regressions, weakened settings, waivers and groups. Pure."""
