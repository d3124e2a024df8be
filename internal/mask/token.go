package mask

import "strings"

// Lengths of tokens, in bytes.
const (
	minCode  = 6  // after a word such as "reset"
	minToken = 20 // anywhere: longer than product numbers (GTIN: 14), order numbers and dates
)

// maskTokens replaces random-looking runs of letters and digits.
func maskTokens(text string, encoded bool) string {
	r := replacer{text: text}
	for from := 0; from < len(text); {
		to := from
		for to < len(text) && inToken(text[to], encoded) {
			to++
		}
		if isRandom(text[from:to]) {
			if strings.HasPrefix(text[from:], "eyJ") { // a JSON Web Token: base64 of {" and parts separated by dots
				for to < len(text) && (text[to] == '.' || inToken(text[to], encoded)) {
					to++
				}
			}
			r.replace(from, to, asToken)
		}
		from = to + 1
	}
	return r.String()
}

// isAsset reports whether a segment is the name of a file that pages load. Such names often have a
// hash of the file's content, which tells nothing about a person.
func isAsset(segment string) bool {
	dot := strings.LastIndexByte(segment, '.')
	return dot > 0 && assets[strings.ToLower(segment[dot+1:])]
}

var assets = map[string]bool{
	"css": true, "js": true, "mjs": true, "map": true, "wasm": true, "eot": true, "otf": true, "ttf": true, "woff": true, "woff2": true,
	"avif": true, "gif": true, "ico": true, "jpeg": true, "jpg": true, "png": true, "svg": true, "webp": true,
}

// inToken reports whether a token may contain a byte. Encoded tokens may be in standard base64.
func inToken(c byte, encoded bool) bool {
	return isAlnum(c) || c == '-' || c == '_' || encoded && (c == '+' || c == '/' || c == '=')
}

// isRandom reports whether a text of at least minToken bytes looks random: hexadecimal, digits, or
// at least 35 % of neighbors do not follow each other in words. 99 % of random texts from 62
// characters are found, 93 % of base32, 57 % of lower-case letters alone (decision 0066). Names in
// capitalized words with numbers are almost never taken for random. Many hyphens mean words.
func isRandom(text string) bool {
	var letters, digits, separators, odd int
	hex := true
	before := byte(0)
	for i := range len(text) {
		c := text[i]
		switch {
		case isDigit(c):
			digits++
		case isAlnum(c):
			letters++
		default:
			separators++
		}
		hex = hex && hexValue(c) >= 0
		if alternates(before, c) || isOddPair(before, c) {
			odd++
		}
		before = c
	}
	switch {
	case len(text) < minToken || separators*8 > len(text):
		return false
	case digits > 0 && (hex || letters == 0):
		return true
	}
	return odd*100 >= (letters+digits-1)*35
}

// alternates reports whether one byte follows another more often in random text than in words: a
// digit next to a letter, or a capital after a small letter.
func alternates(before, c byte) bool {
	if !isAlnum(before) || !isAlnum(c) {
		return false
	}
	return isDigit(before) != isDigit(c) || isLower(before) && isUpper(c)
}

// isOddPair reports whether two bytes are consonants that are rarely neighbors in words of European
// languages.
func isOddPair(a, b byte) bool {
	a, b = a|0x20, b|0x20 // lower case
	return isLower(a) && isLower(b) && pairs[a-'a']&(1<<(b-'a')) == 0
}

// pairs has a bit for each pair of letters that is common in words: all with a vowel, and those of
// followers.
var pairs = func() (common [26]uint32) {
	const vowels = "aeiouy"
	for a := range byte(26) {
		for b := range byte(26) {
			if strings.IndexByte(vowels, 'a'+a) >= 0 || strings.IndexByte(vowels, 'a'+b) >= 0 || strings.IndexByte(followers[a], 'a'+b) >= 0 {
				common[a] |= 1 << b
			}
		}
	}
	return common
}()

// followers lists the consonants that often follow a consonant.
var followers = [26]string{
	'b' - 'a': "bjlrst", 'c' - 'a': "chklrst", 'd' - 'a': "bdfghlmnrstvw", 'f' - 'a': "flrt", 'g' - 'a': "ghlnrst", 'h' - 'a': "lmnrt",
	'k' - 'a': "klnrst", 'l' - 'a': "bcdfgklmpstvw", 'm' - 'a': "bmnps", 'n' - 'a': "bcdfghjklmnpqrstvwz", 'p' - 'a': "fhlmprst",
	'r' - 'a': "bcdfghklmnprstvwz", 's' - 'a': "cfhklmnpqstvwz", 't' - 'a': "bchlmnprstwz", 'v' - 'a': "r", 'w' - 'a': "hnrst", 'x' - 'a': "cpt", 'z' - 'a': "twz",
}

// codeWords are words of paths that a one-time code follows.
var codeWords = map[string]bool{
	"reset": true, "password": true, "recover": true, "recovery": true, "verify": true, "verification": true,
	"confirm": true, "confirmation": true, "activate": true, "activation": true, "unsubscribe": true,
	"invite": true, "invitation": true, "invitations": true, "magic": true, "token": true, "tokens": true,
	"otp": true, "session": true, "sessions": true, "login": true, "signin": true, "auth": true,
}

// maxCodeWords is how many words a segment may have to be read for code words: reset-password,
// not how-to-reset-a-phone.
const maxCodeWords = 3

// expectsCode reports whether a segment says that a code follows.
func expectsCode(segment string) bool {
	if len(segment) > maxPattern {
		return false
	}
	found := false
	n := 0
	for word := range strings.FieldsFuncSeq(strings.ToLower(segment), func(r rune) bool { return r == '-' || r == '_' || r == '.' }) {
		n++
		found = found || codeWords[word]
	}
	return found && n <= maxCodeWords
}

// isCode reports whether a text can be a code: digits, or letters and digits mixed unlike a word
// with a number, such as windows11.
func isCode(text string) bool {
	var lower, digits, changes int
	before := byte(0)
	for i := range len(text) {
		c := text[i]
		if !isAlnum(c) {
			return false
		}
		if isDigit(c) {
			digits++
		}
		if isLower(c) {
			lower++
		}
		if alternates(before, c) {
			changes++
		}
		before = c
	}
	return digits > 0 && (digits == len(text) || lower == 0 || changes >= 3)
}
