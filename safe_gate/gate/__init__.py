"""Decides the verdict: rules, regressions, weakened settings, waivers and groups. Pure."""
