// Reports that the tracker runs in this page, and what would stop its events, to where events are sent. The
// dashboard opens a page with ?onefold=check_TOKEN for that, and shows the report.
(() => {
  const tracker = window.onefold
  const token = /[?&]onefold=check_(\w+)/.exec(location.search)?.[1]
  if (!tracker?.v?.data || !token) return
  const { data, api, refused } = tracker.v
  const yes = (value) => (value ? 'yes' : undefined)
  fetch(api, {
    method: 'POST', credentials: 'omit',
    body: JSON.stringify({
      check: token, site: data.site, url: (location.origin + location.pathname).slice(0, 2000),
      props: { ignored: yes(tracker.off), refused: yes(refused), package: yes(data.package) },
    }),
  }).then(
    (answer) => console.info('onefold: the report was sent, status ' + answer.status),
    () => console.warn('onefold: the report cannot be sent to ' + api),
  )
})()
