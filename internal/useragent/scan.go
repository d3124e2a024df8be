package useragent

import "strings"

// kind is what a word indicates.
type kind uint8

const (
	kindBot kind = iota + 1
	kindBrowser
	kindOS
	kindDevice
	kindEngine
	kindVersion
)

// sign is the meaning of a word.
type sign struct {
	kind   kind
	rank   uint8  // among signs of a kind the highest wins, and of equals the first
	name   string // of the bot, the browser or the system
	device string // the usual device of the system, or the device itself
	reason string // of a bot

	version   string // of a browser, if it differs from the word's version
	free      bool   // of a browser: it need not name an operating system
	versioned bool   // counts only with a version, or if it is the only word
}

// webView is the name of the sign of a browser inside an Android app.
const webView = "wv"

// findings has the signs found so far in one user agent.
type findings struct {
	bot, suspect        sign
	browser, os, device sign

	browserWord, browserVersion string // the word that revealed the browser, and its version
	versionless                 bool   // the version may be in the next word
	number                      string // the version of the word "Version"

	engine, view, mobile, tablet bool
	contact, mozilla, alone      bool
	first, second                string // the first two unknown words, as names for unknown bots
}

// scan splits ua into words and collects their signs.
func (p *Parser) scan(ua string, f *findings) {
	var room [2*maxWord + 1]byte
	var previous word
	whole := ua
	for ua != "" {
		var w word
		if w, ua = cutWord(ua); w.name == "" {
			continue
		}
		f.alone = len(w.name) == len(whole)
		if isURL(w.name) {
			f.contact = true
			previous = word{}
			continue
		}
		f.contact = f.contact || isMail(w.name)
		if w.joined && previous.version == "" && previous.name != "" {
			f.follow(previous, w)
			pair := append(lower(room[:0], previous.name), ' ')
			pair = append(pair, lower(room[len(pair):len(pair)], w.name)...)
			f.take(p.signs[string(pair)], w)
		}
		signs := p.signs[string(lower(room[:0], w.name))]
		f.take(signs, w)
		if len(signs) == 0 {
			f.note(w)
		}
		previous = w
	}
}

// follow uses a number after a browser's name, as in "MSIE 7.0", as its version.
func (f *findings) follow(previous, w word) {
	if f.versionless && isDigit(w.name[0]) && strings.EqualFold(previous.name, f.browserWord) {
		f.browserVersion, f.versionless = w.name, false
	}
}

// note records an unknown word: it may be the name of an unknown bot, or contain a suspect part.
func (f *findings) note(w word) {
	if f.suspect.kind == 0 {
		f.suspect = suspicious(w.name)
	}
	switch {
	case strings.EqualFold(w.name, "Mozilla"):
		f.mozilla = true
	case f.second != "", strings.EqualFold(w.name, "compatible"):
	case f.first == "":
		f.first = w.name
	default:
		f.second = w.name
	}
}

// nickname returns what an unknown program calls itself. If it pretends to be a browser, its name
// cannot be determined.
func (f *findings) nickname() string {
	if f.browser.kind != 0 || f.mozilla && f.os.kind != 0 {
		return ""
	}
	if isMail(f.first) {
		return f.second
	}
	return f.first
}

// take records the signs of a word.
func (f *findings) take(signs []sign, w word) {
	for _, s := range signs {
		if s.versioned && w.version == "" && !f.alone {
			continue
		}
		switch s.kind {
		case kindBot:
			better(&f.bot, s)
		case kindBrowser:
			f.takeBrowser(s, w)
		case kindOS:
			better(&f.os, s)
		case kindDevice:
			f.takeDevice(s)
		case kindEngine:
			f.engine = true
			f.view = f.view || s.name == webView
		case kindVersion:
			f.number = w.version
		}
	}
}

func (f *findings) takeBrowser(s sign, w word) {
	// The Facebook app has its name in one word and its version in another.
	completes := s.name == f.browser.name && version(f.browserVersion) == ""
	if !better(&f.browser, s) && !completes {
		return
	}
	f.browserWord, f.browserVersion = w.name, w.version
	if s.version != "" {
		f.browserVersion = s.version
	}
	f.versionless = f.browserVersion == ""
}

func (f *findings) takeDevice(s sign) {
	switch s.device {
	case Mobile:
		f.mobile = true
	case Tablet:
		f.tablet = true
	default:
		better(&f.device, s)
	}
}

// better replaces old by s if its rank is higher.
func better(old *sign, s sign) bool {
	if old.kind != 0 && old.rank >= s.rank {
		return false
	}
	*old = s
	return true
}

// agent combines the signs into a result, if nothing has revealed a bot.
func (f *findings) agent() Agent {
	somewhere := f.os.kind != 0 || f.device.kind != 0 || f.mobile || f.tablet
	switch {
	case f.browser.kind == 0 && (!f.engine || !somewhere):
		return bot(f.nickname(), ReasonNotBrowser)
	case !somewhere && !f.browser.free:
		return bot("", ReasonAbsurd)
	}
	a := Agent{Browser: f.browser.name, BrowserVersion: version(f.browserVersion), OS: f.os.name, Device: f.deviceKind()}
	switch a.Browser {
	case "Safari":
		// The well-known version is in another word. This also holds for the browser of old
		// Androids.
		a.BrowserVersion = version(f.number)
		if a.OS == "Android" {
			a.Browser = "Android Browser"
		}
	case "Opera":
		if f.number != "" { // Opera 10 to 12 send 9.80 as their version
			a.BrowserVersion = version(f.number)
		}
	case "Chrome":
		if f.view && a.OS == "Android" {
			a.Browser = "Android WebView"
		}
	case "":
		a.Browser = f.unnamed()
	}
	return a
}

// unnamed returns the name of the browser inside an app that does not name it.
func (f *findings) unnamed() string {
	switch f.os.name {
	case "iOS":
		return "iOS WebView"
	case "Android":
		return "Android WebView"
	default:
		return "Other"
	}
}

func (f *findings) deviceKind() string {
	switch {
	case f.device.kind != 0:
		return f.device.device
	case f.os.name == "Android" && (f.mobile || f.browser.name == "Opera Mini") && !f.tablet:
		return Mobile
	case f.os.name == "Android":
		return Tablet // makers of tablets are asked to omit "Mobile"
	case f.mobile && (f.os.name == "Linux" || f.os.name == "Tizen" || f.os.name == ""):
		return Mobile
	case f.tablet && (f.os.name == "Linux" || f.os.name == ""):
		return Tablet
	default:
		return f.os.device
	}
}

// suspicious looks for the parts of unknown bots' names.
func suspicious(name string) sign {
	var room [maxWord]byte
	b := string(lower(room[:0], name))
	for _, s := range suspects {
		if strings.Contains(b, s.part) && !strings.HasPrefix(b, "cubot") {
			return sign{kind: kindBot, name: name, reason: s.reason}
		}
	}
	return sign{}
}
