// The page works without this script. It filters the tables, and opens collapsed sections before printing.
(function () {
  var box = document.getElementById("filter");
  if (box) {
    box.closest("form").hidden = false;
    box.addEventListener("input", function () {
      var words = box.value.toLowerCase().split(/\s+/).filter(Boolean), shown = 0;
      document.querySelectorAll("[data-filter]").forEach(function (row) {
        var text = row.textContent.toLowerCase();
        row.hidden = !words.every(function (w) { return text.indexOf(w) >= 0; });
        if (!row.hidden) shown++;
      });
      document.getElementById("found").textContent = words.length ? shown + " found" : "";
    });
    box.closest("form").addEventListener("submit", function (e) { e.preventDefault(); });
  }
  function all() { return document.querySelectorAll("details"); }
  var open = [];
  addEventListener("beforeprint", function () { open = []; all().forEach(function (d) { open.push(d.open); d.open = true; }); });
  addEventListener("afterprint", function () { all().forEach(function (d, i) { d.open = open[i]; }); });
  function reveal() { var at = location.hash && document.getElementById(location.hash.slice(1)); if (at && at.tagName === "DETAILS") at.open = true; }
  addEventListener("hashchange", reveal);
  reveal();
})();
