"""SAFE v0: did a clinical pipeline find what it must, avoid what it must, and say what it must."""
