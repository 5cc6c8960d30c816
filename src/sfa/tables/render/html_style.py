"""How the page of a table looks, by day and by night."""

STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #ffffff; --dim: #59636e; --line: #d0d7de;
  --shade: #eaf6fb; --code: #f3f5f7; --link: #0a58a8; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e8ec; --paper: #14181c; --dim: #9aa5b1; --line: #3a424b;
  --shade: #152a35; --code: #1f252b; --link: #7ab8f0; } }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.45 system-ui, sans-serif; }
main { max-width: 72rem; margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.4rem; margin: 0.5rem 0; } h2 { font-size: 1.1rem; margin: 1.5rem 0 0.5rem; }
.scroll { overflow-x: auto; border: 1px solid var(--line); }
table { border-collapse: separate; border-spacing: 0; font-variant-numeric: tabular-nums; font-size: 0.9rem;
  width: 100%; }
th, td { padding: 0.35rem 0.6rem; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line);
  background: var(--paper); }
tbody tr:last-child > * { border-bottom: 0; }
thead th { border-bottom: 2px solid var(--dim); vertical-align: bottom; }
tr > :first-child { position: sticky; left: 0; border-right: 1px solid var(--line); min-width: 5.5rem; }
tr.rule > * { border-top: 2px solid var(--dim); }
tr.highlighted > * { background: var(--shade); }
tbody th { font-weight: 600; }
.published, .measured, .difference { display: block; white-space: nowrap; }
.published, .difference { color: var(--dim); } .difference { font-size: 0.85em; }
summary { cursor: pointer; list-style: none; } summary::-webkit-details-marker { display: none; }
summary:hover .measured { color: var(--link); text-decoration: underline; }
summary:focus-visible, .scroll:focus-visible, pre:focus-visible { outline: 2px solid var(--link); outline-offset: 1px; }
details dl { margin: 0.4rem 0 0; max-width: 20rem; font-size: 0.9em; }
dt { color: var(--dim); } dd { margin: 0 0 0.3rem; overflow-wrap: anywhere; }
dl.marks { display: grid; grid-template-columns: max-content 1fr; gap: 0.15rem 0.6rem; font-size: 0.9rem; }
dl.marks dd { margin: 0; }
sup, sub { line-height: 0; font-size: 0.75em; }
code, pre { font: 0.85em/1.5 ui-monospace, monospace; background: var(--code); }
code { padding: 0.1em 0.3em; overflow-wrap: anywhere; } pre { padding: 0.6rem; overflow-x: auto; }
footer { margin-top: 1.5rem; color: var(--dim); font-size: 0.9rem; }
"""
