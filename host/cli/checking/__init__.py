"""What `branchpoint check` prints: text for people, JSON for programs, SARIF for code review."""
