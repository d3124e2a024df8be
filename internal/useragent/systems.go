package useragent

// systems are the operating systems, the words that reveal them, and their usual devices. A system
// that others pretend to be, or are based on, has a lower rank: Android says Linux, Windows Phone
// says Android, an iPhone says Mac.
var systems = [...]struct {
	rank         uint8
	name, device string
	words        []string
}{
	{10, "Linux", Desktop, []string{"linux", "ubuntu", "x11", "fedora", "debian", "linux-gnu"}},
	{20, "FreeBSD", Desktop, []string{"freebsd", "dragonfly"}},
	{20, "OpenBSD", Desktop, []string{"openbsd"}},
	{20, "NetBSD", Desktop, []string{"netbsd"}},
	{20, "Solaris", Desktop, []string{"sunos", "solaris"}},
	{20, "Unix", Desktop, []string{"hp-ux", "aix", "irix", "irix64", "osf1"}},
	{20, "Haiku", Desktop, []string{"haiku", "beos"}},
	{20, "AmigaOS", Desktop, []string{"amigaos", "morphos"}},
	{20, "OS/2", Desktop, []string{"os2", "ecomstation"}},
	{20, "macOS", Desktop, []string{"macintosh", "mac_powerpc", "intel mac", "ppc mac"}},
	{20, "Windows", Desktop, []string{"windows", "win32", "win64", "win98", "win95", "winnt", "win16", "cygwin_nt-5.1"}},
	{20, "Chrome OS", Desktop, []string{"cros"}},
	{30, "Android", "", []string{"android"}},
	{35, "iOS", Mobile, []string{"iphone", "ipod", "iphone os", "ios"}},
	{36, "iOS", Tablet, []string{"ipad"}},
	{40, "Fire OS", Tablet, []string{"kfapwi", "kfthwi", "kftt", "kfot", "kfjwi", "kfsowi", "kfaswi", "kfarwi", "kffowi", "kfmewi", "kfauwi", "kfdowi", "kfsuwi", "kfgiwi", "kfkawi", "kfmuwi", "kfonwi", "kfmawi", "kftrwi", "kfquwi", "kftuwi", "kfraw", "kindle", "silk-accelerated=true"}},
	{40, "Windows Phone", Mobile, []string{"windows phone", "windows mobile", "wpdesktop", "zunewp7", "windows ce"}},
	{40, "KaiOS", Mobile, []string{"kaios"}},
	{40, "HarmonyOS", Mobile, []string{"harmonyos", "openharmony", "hmos"}},
	{40, "BlackBerry", Mobile, []string{"blackberry", "bb10", "rim"}},
	{41, "BlackBerry", Tablet, []string{"playbook"}},
	{40, "Symbian", Mobile, []string{"symbian", "symbianos", "series60", "s60", "series40"}},
	{40, "Sailfish", Mobile, []string{"sailfish", "maemo", "meego"}},
	{40, "Bada", Mobile, []string{"bada"}},
	{15, "Feature phone", Mobile, []string{"profile", "configuration", "j2me", "midp", "maui", "mtk", "maxx_maui", "up.browser", "docomo"}},
	{40, "Tizen", TV, []string{"tizen"}},
	{40, "webOS", TV, []string{"web0s", "webos", "netcast", "hpwos"}},
	{40, "PlayStation", Console, []string{"playstation"}},
	{40, "Nintendo", Console, []string{"nintendo"}},
	{40, "Xbox", Console, []string{"xbox"}},
	{40, "tvOS", TV, []string{"appletv", "tvos"}},
	{40, "Roku", TV, []string{"roku"}},
}

// devices are words about the device alone. "Mobile" and "Tablet" matter only if the system does
// not determine the device.
var devices = [...]struct {
	device string
	words  []string
}{
	{TV, []string{"tv", "smart-tv", "smarttv", "smart tv", "googletv", "hbbtv", "crkey", "bravia", "aftb", "aftm", "aftt", "afts", "aftn", "aftmm", "aftka", "mibox", "mitv", "netcast.tv", "dtv"}},
	{Console, []string{"playstation", "nintendo", "xbox"}},
	{Mobile, []string{"mobile", "mobi", "phone"}},
	{Tablet, []string{"tablet", "playbook", "xoom", "touchpad"}},
}
