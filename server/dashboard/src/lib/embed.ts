// Code that people paste into pages of their own.

export const attribute = (s: string) => s.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;')

// A badge shows the visitors of a public site, and links to its statistics.
export interface Badge { image: string; page: string; alt: string }
export const badgeOf = (origin: string, site: { id: string; name?: string }): Badge => ({
  image: `${origin}/badge/${encodeURIComponent(site.id)}.svg`, page: `${origin}/sites/${encodeURIComponent(site.id)}`, alt: `Visitors of ${site.name || site.id}`,
})
export const badgeHTML = (b: Badge) => `<a href="${attribute(b.page)}"><img src="${attribute(b.image)}" alt="${attribute(b.alt)}"></a>`
export const badgeMarkdown = (b: Badge) => `[![${b.alt.replace(/[\\[\]]/g, '\\$&')}](${paren(b.image)})](${paren(b.page)})`

// paren escapes what encodeURIComponent leaves and would end a link of Markdown.
const paren = (url: string) => url.replaceAll('(', '%28').replaceAll(')', '%29')

export const frame = (link: string, title: string) => `<iframe src="${attribute(link)}" title="${attribute(title)}" loading="lazy" style="width: 100%; height: 1200px; border: 0"></iframe>`
