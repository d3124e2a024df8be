package delivery

import (
	"strings"

	"github.com/onefold/onefold/internal/webhook"
)

// Bounds of a card: Teams takes 28 KB.
const (
	maxTeamsTitle = 250
	maxTeamsLines = 50
	maxTeamsLine  = 160
)

var teams = Kind{
	Kind: Teams, Label: "Microsoft Teams",
	Fields: []Field{{
		Name: "url", Label: "Workflow URL", Help: "URL of a Microsoft Teams workflow that posts to a channel when a webhook request is received.", Example: "https://….logic.azure.com/workflows/…", Type: "url", Required: true,
		text: func(s *Settings) *string { return &s.URL }, check: webhook.CheckURL,
	}},
	open: func(o Options) (send, error) {
		return jsonSender(webhook.NewClient(webhook.Options{Private: o.Private}), teamsBody), nil
	},
}

// textRun is text in an Adaptive Card that is not markup.
type textRun struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	FontType string `json:"fontType,omitempty"`
	Size     string `json:"size,omitempty"`
	Weight   string `json:"weight,omitempty"`
	Color    string `json:"color,omitempty"`
}

type textBlock struct {
	Type    string    `json:"type"`
	Inlines []textRun `json:"inlines"`
	Spacing string    `json:"spacing,omitempty"`
}

// teamsBody formats a message as an Adaptive Card, which workflows of Teams post:
// https://learn.microsoft.com/microsoftteams/platform/webhooks-and-connectors/how-to/connectors-using.
// TextBlock would interpret Markdown, RichTextBlock does not.
func teamsBody(m *Message) any {
	run := textRun{Type: "TextRun", Text: cutRunes(oneLine(m.Title), maxTeamsTitle), Size: "Medium", Weight: "Bolder", Color: teamsColors[m.Urgency]}
	body := []textBlock{{Type: "RichTextBlock", Inlines: []textRun{run}}}
	lines := strings.Split(strings.TrimRight(m.Text, "\n"), "\n")
	for _, line := range lines[:min(len(lines), maxTeamsLines)] {
		if line == "" {
			line = " " // an empty run is invalid
		}
		body = append(body, textBlock{Type: "RichTextBlock", Spacing: "None", Inlines: []textRun{{Type: "TextRun", Text: cutRunes(line, maxTeamsLine), FontType: "Monospace"}}})
	}
	card := map[string]any{
		"$schema": "http://adaptivecards.io/schemas/adaptive-card.json", "type": "AdaptiveCard", "version": "1.4",
		"msteams": map[string]any{"width": "Full"}, "body": body,
	}
	if m.Link != "" {
		card["actions"] = []any{map[string]any{"type": "Action.OpenUrl", "title": "Open in onefold", "url": m.Link}}
	}
	return map[string]any{"type": "message", "attachments": []any{map[string]any{"contentType": "application/vnd.microsoft.card.adaptive", "content": card}}}
}

var teamsColors = map[Urgency]string{Warning: "Warning", Critical: "Attention", Recovered: "Good"}
