"""What Branchpoint costs: `python -m benchmarks` measures, prints a table, and writes results.json.

Rules:

- No number is printed that was not measured in this run, but for tokens that are computed, and say so in their name and
  unit. What could not be measured is named, with the reason.
- Contenders take turns, sample by sample, so that whatever else the machine does meets all of them alike. A ratio is
  that of two medians of one run.
- A sample is timed with Python's garbage collector at rest, after a collection; what is loaded for good is out of its
  way. Each contender warms up first.
- Peers run in a process of their own each, in the way that their documentation calls best; where it has two, both are
  measured. They are given the same work, and their answers are checked.

bars.py has the bars as data, everything.py all that is measured. How each is taken, and what exactly is timed, is in
starting, calling, computing, living, sizes, conversations, tasks and tokens.
"""
