"""What runs inside the guest, and the channel that both ends share."""
