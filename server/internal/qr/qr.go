// Package qr draws QR codes as SVG, so that a page needs no external service.
package qr

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/boombuler/barcode/qr"
)

// quiet is the width of the quiet zone in modules, as ISO/IEC 18004 requires.
const quiet = 4

// DataURI returns an image of a text's QR code as a data: URI. It is dark on white whatever the
// page's theme, because many readers do not support inverted codes. It fails for texts of more than
// about 2,300 bytes.
func DataURI(text string) (string, error) {
	code, err := qr.Encode(text, qr.M, qr.Unicode)
	if err != nil {
		return "", fmt.Errorf("qr: %w", err)
	}
	size := code.Bounds().Dx()
	var path strings.Builder
	for y := range size {
		for x := range size {
			if r, _, _, _ := code.At(x, y).RGBA(); r == 0 {
				fmt.Fprintf(&path, "M%d %dh1v1h-1z", x+quiet, y+quiet)
			}
		}
	}
	all := size + 2*quiet
	svg := fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" shape-rendering="crispEdges"><path fill="#fff" d="M0 0h%dv%dH0z"/><path d="%s"/></svg>`,
		all, all, all, all, path.String())
	return "data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString([]byte(svg)), nil
}
