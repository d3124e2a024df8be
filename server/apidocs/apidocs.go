// Package apidocs renders an OpenAPI document as an HTML page, without scripts and without loading
// anything from other hosts.
package apidocs

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"html/template"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// style is the page's style sheet. Its hash is in the content security policy, so that no other
// styles apply.
const style = `
:root { color-scheme: light dark; --line: color-mix(in srgb, currentColor 18%, transparent); }
body { font: 16px/1.55 system-ui, sans-serif; max-width: 52rem; margin: 0 auto; padding: 2rem 1rem 6rem; }
h1 { font-size: 1.6rem; } h2 { margin: 3rem 0 0; font-size: 1.2rem; text-transform: capitalize; }
nav { display: flex; flex-wrap: wrap; gap: .25rem 1rem; text-transform: capitalize; }
section { border-top: 1px solid var(--line); padding: 1rem 0; }
h3 { font-size: 1rem; margin: 0; } p { margin: .4rem 0; }
code { font: .875rem/1.5 ui-monospace, monospace; overflow-wrap: anywhere; }
.method { display: inline-block; min-width: 4.2rem; font-weight: 600; }
table { border-collapse: collapse; width: 100%; margin: .6rem 0; font-size: .875rem; }
th, td { text-align: left; vertical-align: top; padding: .25rem .75rem .25rem 0; border-bottom: 1px solid var(--line); }
th { font-weight: 500; } td:first-child { width: 14rem; }
.needs { opacity: .75; font-size: .875rem; }
`

var page = template.Must(template.New("docs").Parse(`<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>onefold API</title><style>{{.Style}}</style>
<h1>onefold API</h1>
<p>JSON over HTTP. The same as a machine reads it: <a href="/openapi.json">/openapi.json</a>. Errors are
<code>application/problem+json</code> with a stable code at the end of <code>type</code>.</p>
<nav>{{range .Groups}}<a href="#{{.Name}}">{{.Name}}</a>{{end}}</nav>
{{range .Groups}}<h2 id="{{.Name}}">{{.Name}}</h2>
{{range .Operations}}<section id="{{.ID}}"><h3><code><span class="method">{{.Method}}</span> {{.Path}}</code></h3>
<p>{{.Summary}}.{{with .Description}} {{.}}{{end}}</p><p class="needs">{{.Needs}}</p>
{{range .Tables}}<table><thead><tr><th>{{.Title}}<th></thead>{{range .Rows}}<tr><td><code>{{.Name}}</code>{{with .Kind}} <small>{{.}}</small>{{end}}<td>{{.Doc}}{{end}}</table>
{{end}}</section>{{end}}{{end}}</html>
`))

type group struct {
	Name       string
	Operations []operation
}

type operation struct {
	ID, Method, Path, Summary, Description, Needs string
	Tables                                        []part
}

type part struct {
	Title string
	Rows  []row
}

type row struct{ Name, Kind, Doc string }

// Page renders the API document. policy is the content security policy to serve it with. needs
// describes the permission that an operation requires.
func Page(api huma.API, needs func(*huma.Operation) string) (text []byte, policy string, err error) {
	var html bytes.Buffer
	err = page.Execute(&html, map[string]any{"Style": template.CSS(style), "Groups": groups(api, needs)})
	if err != nil {
		return nil, "", fmt.Errorf("apidocs: render: %w", err)
	}
	sum := sha256.Sum256([]byte(style))
	policy = "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	return html.Bytes(), policy, nil
}

func groups(api huma.API, needs func(*huma.Operation) string) []group {
	byTag := map[string][]operation{}
	for path, item := range api.OpenAPI().Paths {
		for _, op := range []*huma.Operation{item.Get, item.Put, item.Post, item.Patch, item.Delete} {
			if op == nil || op.Hidden || len(op.Tags) == 0 {
				continue
			}
			byTag[op.Tags[0]] = append(byTag[op.Tags[0]], describe(api, path, op, needs(op)))
		}
	}
	var all []group
	for name, operations := range byTag {
		slices.SortFunc(operations, func(a, b operation) int {
			return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Method, b.Method))
		})
		all = append(all, group{name, operations})
	}
	slices.SortFunc(all, func(a, b group) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

func describe(api huma.API, path string, op *huma.Operation, needs string) operation {
	described := operation{ID: op.OperationID, Method: op.Method, Path: path, Summary: op.Summary, Description: op.Description, Needs: needs}
	var query []row
	for _, p := range op.Parameters {
		if p.In == "query" {
			query = append(query, row{p.Name, kindOf(p.Schema), cmp.Or(p.Description, p.Schema.Description)})
		}
	}
	described.add("Query", query)
	if op.RequestBody != nil {
		described.add("Body", fields(api, op.RequestBody.Content))
	}
	for status, answer := range op.Responses {
		if strings.HasPrefix(status, "2") {
			described.add("Answer, "+status, fields(api, answer.Content))
		}
	}
	return described
}

func (o *operation) add(title string, rows []row) {
	if len(rows) > 0 {
		o.Tables = append(o.Tables, part{title, rows})
	}
}

// fields returns the fields of a JSON object, and those of its members one level down.
func fields(api huma.API, content map[string]*huma.MediaType) []row {
	media := content["application/json"]
	if media == nil || media.Schema == nil {
		return nil
	}
	return fieldsOf(api, "", media.Schema, 2)
}

func fieldsOf(api huma.API, prefix string, schema *huma.Schema, levels int) []row {
	schema = resolve(api, schema)
	var rows []row
	for _, name := range sortedNames(schema.Properties) {
		field := schema.Properties[name]
		rows = append(rows, row{prefix + name, kindOf(resolve(api, field)), field.Description})
		inner, within := resolve(api, field), prefix+name+"."
		if inner.Items != nil {
			inner, within = resolve(api, inner.Items), prefix+name+"[]."
		}
		if levels > 1 {
			rows = append(rows, fieldsOf(api, within, inner, levels-1)...)
		}
	}
	return rows
}

func resolve(api huma.API, schema *huma.Schema) *huma.Schema {
	if schema.Ref != "" {
		if found := api.OpenAPI().Components.Schemas.SchemaFromRef(schema.Ref); found != nil {
			return found
		}
	}
	return schema
}

func sortedNames(properties map[string]*huma.Schema) []string {
	names := make([]string, 0, len(properties))
	for name := range properties {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func kindOf(schema *huma.Schema) string {
	if len(schema.Enum) > 0 {
		var values []string
		for _, v := range schema.Enum {
			values = append(values, fmt.Sprint(v))
		}
		return strings.Join(values, " | ")
	}
	return cmp.Or(schema.Format, schema.Type)
}
