package useragent

import "strings"

// Ranks of bots: the name of a known bot is more specific than that of its library or proxy.
const (
	rankLibrary = 10
	rankBot     = 20
	rankAI      = 30
)

// index builds one table of all words.
func index() map[string][]sign {
	m := make(map[string][]sign, 1024)
	put(m, engines[:], sign{kind: kindEngine})
	put(m, []string{"wv"}, sign{kind: kindEngine, name: webView})
	put(m, []string{"version"}, sign{kind: kindVersion})
	for _, d := range devices {
		put(m, d.words, sign{kind: kindDevice, device: d.device})
	}
	for _, s := range systems {
		put(m, s.words, sign{kind: kindOS, rank: s.rank, name: s.name, device: s.device})
	}
	for _, b := range browsers {
		put(m, b.words, sign{kind: kindBrowser, rank: b.rank, name: b.name})
	}
	// Internet Explorer 11 no longer sends its name, but its engine's.
	put(m, []string{"trident"}, sign{kind: kindBrowser, rank: 19, name: "Internet Explorer", version: "11"})
	for _, b := range textBrowsers {
		put(m, []string{b.word}, sign{kind: kindBrowser, rank: 1, name: b.name, free: true})
	}
	for _, l := range libraries {
		put(m, l.words, sign{kind: kindBot, rank: rankLibrary, name: l.name, reason: ReasonLibrary})
	}
	for _, b := range bots {
		put(m, b.words, sign{kind: kindBot, rank: rankBot, name: b.name, reason: b.reason})
	}
	for _, a := range aiCrawlers {
		put(m, a.words, sign{kind: kindBot, rank: rankAI, name: a.name, reason: ReasonAI})
	}
	return m
}

// put adds a sign to each of the words, which are in lower case. Two words with a space between
// them match the pair. A word that ends with a slash has other meanings as well: it counts only
// with a version, or if it is the only word.
func put(m map[string][]sign, words []string, s sign) {
	for _, w := range words {
		name, versioned := strings.CutSuffix(w, "/")
		s.versioned = versioned
		m[name] = append(m[name], s)
	}
}
