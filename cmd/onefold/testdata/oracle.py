"""Counts an access log independently of onefold: python3 oracle.py access.log.gz"""
import collections, datetime, gzip, json, re, sys

LINE = re.compile(r'^(\S+) \S+ \S+ \[([^\]]+)\] "([^"]*)" (\d{3}) \S+ "([^"]*)" "([^"]*)"$')
lines = malformed = 0
views = []
for line in gzip.open(sys.argv[1], "rt", encoding="utf-8", errors="surrogateescape"):
    lines += 1
    m = LINE.match(line.rstrip("\n"))
    if not m:
        malformed += 1
        continue
    address, at, request, status, _, agent = m.groups()
    parts = request.split(" ")
    if parts[0] == "GET" and status in ("200", "304"):
        at = datetime.datetime.strptime(at, "%d/%b/%Y:%H:%M:%S %z").astimezone(datetime.timezone.utc)
        views.append((at, (address, agent), parts[1].split("?")[0]))

visits = 0
last = {}
for at, visitor, _ in sorted(views):  # a visit ends after 30 minutes of silence, and with the day
    who = (visitor, at.date())
    visits += who not in last or at - last[who] >= datetime.timedelta(minutes=30)
    last[who] = at

print(json.dumps({
    "lines": lines, "malformed": malformed, "pageViews": len(views), "visits": visits,
    "visitors": collections.Counter(day.isoformat() for _, day in {(v, at.date()) for at, v, _ in views}),
    "byDay": collections.Counter(at.strftime("%Y-%m-%d") for at, _, _ in views),
    "byHour": collections.Counter(at.strftime("%Y-%m-%dT%H:00:00Z") for at, _, _ in views),
    "pages": collections.Counter(path for _, _, path in views),
}))
