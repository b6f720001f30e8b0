"""Policy `restricted`: which Python an agent may write, and what it may reach.

Policy `open` never imports this package.

The wall around the guest is Wasm. This is the policy inside it, for hosts that want agent code to stay with plain
data processing and capability calls: a cell is rejected before its first effect, each time with line, column and what
to write instead.

    violations  what a rejection is, as an exception
    words       names and attributes: which may be written, and what to write instead of those that may not
    language    the transformer: RestrictedPython's, taught the modern syntax that it refuses
    findings    what is found in a cell's source: broken rules, and what each name means there
    patterns    `match` cases that read attributes, rewritten so that they read them through the guards
    matching    what those rewritten cases call
    attributes  what runs when an attribute or an item is read
    writing     what runs when one is set or deleted
    kind        `type` with one argument
    classes     how agent code makes classes, and which classes and objects are its own
    formatting  `str.format` and `string.Formatter` without unguarded attributes
    modules     the allow-list of imports
    imports     modules as agent code sees them
    standins    the members of those modules that are replaced, because the originals go past the guards
    restricted  the two calls that the runtime makes: `compile_cell`, `namespace`
"""
