#!/usr/bin/env python3
"""Counts an access log in another language than the parser's, for the test to compare with.

usage: oracle.py access.log.gz > oracle.json

A page view is a GET answered with 200 or 304. Days and hours are in UTC.
"""
import collections, datetime, gzip, json, re, sys

QUOTED = r'"((?:[^"\\]|\\.)*)"'
LINE = re.compile(r'^(\S+) \S+ .*?\[([^\]]+)\] ' + QUOTED + r' (\d{3}|-) (\d+|-) ' + QUOTED + ' ' + QUOTED + r'( .*)?$')

lines = malformed = total = 0
status, methods = collections.Counter(), collections.Counter()
addresses, agents = set(), set()
days, hours, pages = collections.Counter(), collections.Counter(), collections.Counter()

with gzip.open(sys.argv[1], "rt", encoding="utf-8", errors="replace", newline="\n") as log:
    for line in log:
        lines += 1
        match = LINE.match(line.rstrip("\r\n"))
        if not match:
            malformed += 1
            continue
        address, time, request, code, size, referrer, agent, _ = match.groups()
        parts = request.split(" ")
        addresses.add(address)
        agents.add(agent)
        status[code] += 1
        methods[parts[0]] += 1
        if parts[0] != "GET" or code not in ("200", "304"):
            continue
        at = datetime.datetime.strptime(time, "%d/%b/%Y:%H:%M:%S %z").astimezone(datetime.timezone.utc)
        total += 1
        days[at.strftime("%Y-%m-%d")] += 1
        hours[at.strftime("%Y-%m-%dT%H:00:00Z")] += 1
        pages[parts[1].split("?")[0].split("#")[0]] += 1

top = sorted(pages.items(), key=lambda item: (-item[1], item[0]))[:20]
json.dump({
    "lines": lines, "malformed": malformed, "addresses": len(addresses), "userAgents": len(agents),
    "status": dict(sorted(status.items())), "methods": dict(sorted(methods.items())),
    "pageViews": total, "days": dict(sorted(days.items())), "hours": dict(sorted(hours.items())),
    "paths": len(pages), "topPages": [{"path": path, "pageViews": n} for path, n in top],
}, sys.stdout, indent=1)
print()
