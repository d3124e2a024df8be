/** A server-sent event. */
export interface Message {
  id: string
  event: string
  data: string
}

const maxLine = 16 << 20 // characters; an event has at most 400 KB

/** Yields the events of a body until it ends. */
export async function* messages(body: ReadableStream<Uint8Array>): AsyncGenerator<Message> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let rest = ''
  let message: Message = { id: '', event: 'message', data: '' }
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      rest += decoder.decode(value, { stream: true })
      if (rest.length > maxLine) throw new TypeError('the server sent a line that is too long')
      const lines = rest.split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) {
        const [field, text] = fieldOf(line.replace(/\r$/, ''))
        if (field === 'id') message.id = text
        else if (field === 'event') message.event = text
        else if (field === 'data') message.data += (message.data && '\n') + text
        else if (field === '' && text === '') {
          if (message.data) yield message
          message = { id: '', event: 'message', data: '' }
        }
      }
    }
  } finally {
    await reader.cancel().catch(() => {})
  }
}

function fieldOf(line: string): [string, string] {
  const colon = line.indexOf(':')
  if (colon < 0) return [line, '']
  return [line.slice(0, colon) || ':', line.slice(colon + 1).replace(/^ /, '')]
}
