package useragent

// browsers are the browsers and the words that reveal them. Every browser pretends to be its
// predecessors, so a browser based on another has a higher rank.
var browsers = [...]struct {
	rank  uint8
	name  string
	words []string
}{
	// What every browser pretends to be.
	{5, "WAP Browser", []string{"profile/", "wap/"}},
	{10, "Safari", []string{"safari"}},
	{15, "Netscape", []string{"netscape", "navigator"}},
	{20, "Chrome", []string{"chrome", "crios", "crmo"}},
	{20, "Firefox", []string{"firefox", "fxios", "bonecho", "minefield", "shiretoko", "granparadiso", "phoenix/", "firebird/", "namoroka"}},
	{20, "Internet Explorer", []string{"msie", "iemobile"}},
	{25, "Chromium", []string{"chromium"}},
	// Major browsers and their engines.
	{40, "Edge", []string{"edg", "edge", "edga", "edgios"}},
	{40, "Opera", []string{"opr", "opera", "opt/", "opios", "opx", "opera touch"}},
	{50, "Opera Mini", []string{"opera mini"}},
	{50, "Opera Mobile", []string{"opera mobi", "opera tablet"}},
	{40, "Samsung Internet", []string{"samsungbrowser"}},
	{40, "DuckDuckGo", []string{"duckduckgo", "ddg"}},
	{40, "Brave", []string{"brave"}},
	{40, "Vivaldi", []string{"vivaldi"}},
	{40, "Yandex Browser", []string{"yabrowser", "yowser", "yasearchbrowser", "yaapp_android"}},
	{40, "UC Browser", []string{"ucbrowser", "ucweb", "ubrowser", "uc browser"}},
	{40, "Miui Browser", []string{"miuibrowser", "xiaomi miuibrowser"}},
	{40, "Huawei Browser", []string{"huaweibrowser"}},
	{40, "HeyTap Browser", []string{"heytapbrowser", "oppobrowser", "realmebrowser"}},
	{40, "Vivo Browser", []string{"vivobrowser"}},
	{40, "QQ Browser", []string{"qqbrowser", "mqqbrowser", "tencenttraveler"}},
	{40, "Sogou Explorer", []string{"metasr", "sogoumobilebrowser"}},
	{40, "360 Browser", []string{"360se", "360ee", "qihu", "qhbrowser"}},
	{40, "Baidu Browser", []string{"bidubrowser", "baidubrowser", "baiduboxapp", "flyflow"}},
	{40, "Maxthon", []string{"maxthon", "mxbrowser", "mxios"}},
	{40, "2345 Explorer", []string{"2345explorer"}},
	{40, "Whale", []string{"whale/"}},
	{40, "Coc Coc", []string{"coc_coc_browser", "coccoc"}},
	{40, "Silk", []string{"silk/"}},
	{40, "Puffin", []string{"puffin"}},
	{40, "Ecosia", []string{"ecosia"}},
	{40, "Avast Secure Browser", []string{"avast/", "avastsecurebrowser", "avg/", "avgsecurebrowser", "ccleaner/", "ccleanerbrowser"}},
	{40, "Arc", []string{"arc/"}},
	{40, "Oculus Browser", []string{"oculusbrowser", "picobrowser"}},
	{40, "Firefox Focus", []string{"focus/", "klar/"}},
	{40, "KaiOS Browser", []string{"kaios"}},
	{40, "Nintendo Browser", []string{"nintendobrowser", "nf/", "nx/"}},
	// Small and old browsers.
	{30, "Iron", []string{"iron/"}},
	{30, "CoolNovo", []string{"coolnovo", "chromeplus"}},
	{30, "Comodo Dragon", []string{"comodo_dragon", "dragon/"}},
	{30, "RockMelt", []string{"rockmelt"}},
	{30, "Epiphany", []string{"epiphany"}},
	{30, "Midori", []string{"midori"}},
	{30, "Konqueror", []string{"konqueror"}},
	{30, "Falkon", []string{"falkon", "qupzilla", "rekonq", "arora"}},
	{30, "Qt WebEngine", []string{"qtwebengine", "qt/"}},
	{30, "SeaMonkey", []string{"seamonkey"}},
	{30, "Iceweasel", []string{"iceweasel", "icecat", "iceape"}},
	{30, "Pale Moon", []string{"palemoon", "basilisk", "goanna"}},
	{30, "Waterfox", []string{"waterfox"}},
	{30, "LibreWolf", []string{"librewolf"}},
	{30, "Camino", []string{"camino"}},
	{30, "K-Meleon", []string{"k-meleon"}},
	{30, "Conkeror", []string{"conkeror"}},
	{30, "Galeon", []string{"galeon"}},
	{30, "OmniWeb", []string{"omniweb"}},
	{30, "Sleipnir", []string{"sleipnir"}},
	{30, "Dolphin", []string{"dolphin/", "dolfin"}},
	{30, "AOL", []string{"aol"}},
	{30, "BlackBerry Browser", []string{"bb10", "blackberry"}},
	{30, "NetFront", []string{"netfront"}},
	{30, "Obigo", []string{"obigo", "teleca"}},
	{30, "Openwave", []string{"up.browser", "openwave", "semc-browser"}},
	{30, "Maui Browser", []string{"maui browser", "wap browser"}},
	{30, "Electron", []string{"electron"}},
	// Browsers inside apps.
	{60, "Google App", []string{"gsa"}},
	{60, "Facebook", []string{"fban", "fb_iab", "fbav", "fbios", "fb4a"}},
	{70, "Messenger", []string{"messengerforios", "orca-android", "messengerlite"}},
	{60, "Instagram", []string{"instagram"}},
	{60, "Threads", []string{"barcelona"}},
	{60, "TikTok", []string{"bytedancewebview", "musical_ly", "tiktok"}},
	{60, "Snapchat", []string{"snapchat"}},
	{60, "Pinterest", []string{"pinterest"}},
	{60, "LinkedIn", []string{"linkedinapp"}},
	{60, "X", []string{"twitter for", "twitterandroid"}},
	{60, "Line", []string{"line/"}},
	{60, "WeChat", []string{"micromessenger"}},
	{60, "Kakao", []string{"kakaotalk"}},
	{60, "Naver", []string{"naver"}},
	{60, "Telegram", []string{"telegram", "telegram-android"}},
	{60, "Slack", []string{"slack/", "slack_ssb"}},
	{60, "Teams", []string{"teams/"}},
	{60, "Janetter", []string{"janetter"}},
}

// textBrowsers name their operating system in their own ways.
var textBrowsers = [...]struct{ name, word string }{
	{"Lynx", "lynx"}, {"Links", "links"}, {"ELinks", "elinks"}, {"w3m", "w3m"}, {"Dillo", "dillo"}, {"NetSurf", "netsurf"},
}

// engines are words without which an unknown program is not a browser.
var engines = [...]string{"applewebkit", "webkit", "gecko", "khtml", "presto"}
