"""What other tools recorded, as cases or outputs: `safe-gate import`."""
