import type { ChannelName } from '@flotilla/protocol/people'

/**
 * Parses a message as its platform does and returns what a person sees. Throws if markup is not closed, not allowed
 * at its position, or unknown to the platform. Written from the platforms' documentation, independent of the code
 * that produces messages.
 */
export const readSpelled: Readonly<Record<ChannelName, (spelled: string) => string>> = {
  telegram: readTelegramHtml,
  discord: (text) => readLines(text, discordInline, '\u200B'),
  webhook: (text) => readLines(text, discordInline, '\u200B'),
  slack: (text) => decodeEntities(readLines(text, (line) => starredInline(line, true), '\u2060')),
  whatsapp: (text) => readLines(text, (line) => starredInline(line, false), '\u2060'),
}

/** Parses the part of Telegram's HTML style that messages use. */
function readTelegramHtml(html: string): string {
  const open: { readonly name: string; readonly from: number }[] = []
  let [seen, visible, entities] = ['', '', 0]
  for (const { 0: whole, groups } of html.matchAll(
    /<(?<closing>\/?)(?<name>[a-z]+)(?<attributes>[^<>]*)>|(?<entity>&[a-z]+;)|(?<words>[^<>&]+)|(?<stray>[\s\S])/g,
  )) {
    const { closing, name, attributes = '', entity, words, stray } = groups ?? {}
    if (stray !== undefined) throw new Error(`a bare ${stray}`)
    if (words !== undefined) visible += words
    else if (entity !== undefined) visible += telegramEntity(entity)
    else if (closing === '/') {
      const last = open.pop()
      if (last?.name !== name || attributes !== '') throw new Error(`</${name}> closes ${last?.name}`)
      if (visible.length === last?.from) throw new Error(`<${name}> is empty`)
    } else {
      const inside = open.map((one) => one.name)
      checkTag({ name: name!, attributes, inside, before: seen })
      // `pre` and the `code` inside it, which names the language, count as one entity.
      if (!(name === 'code' && inside.at(-1) === 'pre')) entities += 1
      open.push({ name: name!, from: visible.length })
    }
    seen = whole
  }
  if (open.length > 0) throw new Error(`${open.map(({ name }) => name).join()} is left open`)
  if (entities > 100) throw new Error(`${entities} entities`)
  if (visible.length > 4096) throw new Error(`${visible.length} characters`)
  return visible
}

interface OpenedTag {
  readonly name: string
  readonly attributes: string
  readonly inside: readonly string[]
  readonly before: string
}

function checkTag({ name, attributes, inside, before }: OpenedTag): void {
  const isLanguage = name === 'code' && before === '<pre>'
  if (!['b', 'i', 's', 'a', 'code', 'pre', 'blockquote'].includes(name)) throw new Error(`<${name}>`)
  if (!isLanguage && inside.some((one) => one === 'code' || one === 'pre')) {
    throw new Error(`<${name}> within code`)
  }
  if ((name === 'code' || name === 'pre') && !isLanguage && inside.some((one) => one !== 'blockquote')) {
    throw new Error(`<${name}> within ${inside.join()}`)
  }
  if (inside.includes(name)) throw new Error(`<${name}> within itself`)
  if (name === 'blockquote' && inside.length > 0) throw new Error('a quote within something')
  const wanted =
    name === 'a' ? /^ href="https?:\/\/[^"\s]+"$/ : isLanguage ? /^ class="language-[\w+#.-]+"$/ : /^$/
  if (!wanted.test(attributes)) throw new Error(`<${name}${attributes}>`)
}

function telegramEntity(entity: string): string {
  const known: Readonly<Record<string, string>> = { '&lt;': '<', '&gt;': '>', '&amp;': '&', '&quot;': '"' }
  const character = known[entity]
  if (character === undefined) throw new Error(`Telegram does not know ${entity}`)
  return character
}

function readLines(text: string, inline: (line: string) => string, parting: string): string {
  const lines = text.split('\n')
  const visible: string[] = []
  for (let index = 0; index < lines.length; index += 1) {
    const line = lines[index]!
    const fence = /^(`{3,})[A-Za-z0-9+#_.-]*$/.exec(line)?.[1]
    if (fence === undefined) {
      visible.push(inline(line.replace(/^> /, '')))
      continue
    }
    const end = lines.indexOf(fence, index + 1)
    if (end === -1) throw new Error('a block of code is left open')
    const inner = lines.slice(index + 1, end)
    if (inner.some((one) => one.includes(fence))) throw new Error('a block of code ends within itself')
    visible.push(inner.map((one) => one.replaceAll(parting, '')).join('\n'))
    index = end
  }
  return visible.join('\n')
}

/** Opens and closes marks, the last one first. */
function createMarks() {
  const open: string[] = []
  return {
    last: () => open.at(-1),
    turn: (mark: string, rest: string) => {
      if (open.at(-1) === mark) open.pop()
      else if (open.includes(mark)) throw new Error(`${mark} across ${open.at(-1)}: ${JSON.stringify(rest)}`)
      else open.push(mark)
    },
    end: (line: string) => {
      if (open.length > 0) throw new Error(`${open.join(' ')} is left open: ${line}`)
    },
  }
}

function discordInline(line: string): string {
  const marks = createMarks()
  let visible = ''
  for (let at = 0; at < line.length;) {
    const rest = line.slice(at)
    const link = /^\[((?:\\[\s\S]|[^\\\]])*)\]\(<(https?:\/\/[^<>\s]+)>\)/.exec(rest)
    const bare = /^<(https?:\/\/[^<>\s]+)>/.exec(rest)
    const escaped = /^\\([^\sA-Za-z0-9])/.exec(rest)
    const ticks = /^`+/.exec(rest)?.[0]
    if (escaped) {
      visible += escaped[1]!
      at += 2
    } else if (link) {
      visible += discordInline(link[1]!)
      at += link[0].length
    } else if (bare) {
      visible += bare[1]!
      at += bare[0].length
    } else if (ticks !== undefined) {
      const code = new RegExp(`^${ticks}([^\`]|[^\`][\\s\\S]*?[^\`])${ticks}(?!\`)`).exec(rest)
      if (code === null) throw new Error(`code is left open: ${JSON.stringify(rest.slice(0, 40))}`)
      visible += code[1]!
      at += code[0].length
    } else if (rest.startsWith('*') || rest.startsWith('~~')) {
      const double = rest.startsWith('**') && marks.last() !== '*' ? '**' : '*'
      const mark = rest.startsWith('~~') ? '~~' : double
      marks.turn(mark, rest)
      at += mark.length
    } else {
      if (/^[_|[\]<>~\\]/.test(rest)) throw new Error(`a bare ${JSON.stringify(rest.slice(0, 20))}`)
      if (!rest.startsWith('\u200B')) visible += rest[0]!
      at += 1
    }
  }
  marks.end(line)
  return visible
}

const endsInWord = /[\p{L}\p{N}]$/v
const beginsWithWord = /^[\p{L}\p{N}]/v

/**
 * Returns the address up to the next blank. A closing bracket without an opening one belongs to the surrounding
 * text and ends it.
 */
function addressAt(text: string): string | null {
  const whole = /^https?:\/\/[^\s\u200B\u2060]+/.exec(text)?.[0] ?? null
  if (whole === null || !whole.endsWith(')')) return whole
  const [opened, closed] = [whole.split('(').length, whole.split(')').length]
  return closed > opened ? whole.slice(0, -1) : whole
}

function starredInline(line: string, hasEntities: boolean): string {
  const marks = createMarks()
  let visible = ''
  for (let at = 0; at < line.length;) {
    const rest = line.slice(at)
    const link = hasEntities ? /^<(https?:\/\/[^<>|\s]+)\|([^<>]*)>/.exec(rest) : null
    const address = hasEntities ? null : addressAt(rest)
    const literal = /^\u2060([*_~>])\u2060/.exec(rest)
    const code = /^`([^`]+)`/.exec(rest)
    const isWithinWord =
      endsInWord.test(line.slice(Math.max(0, at - 2), at)) && beginsWithWord.test(line.slice(at + 1, at + 3))
    if (literal) {
      visible += literal[1]!
      at += literal[0].length
    } else if (link) {
      visible += link[2]!
      at += link[0].length
    } else if (address) {
      visible += address
      at += address.length
    } else if (code) {
      visible += code[1]!
      at += code[0].length
    } else if (/^[*_~]/.test(rest) && !isWithinWord) {
      marks.turn(rest[0]!, line.slice(Math.max(0, at - 60), at + 30))
      at += 1
    } else {
      if (rest.startsWith('`') || (hasEntities && /^[<>]/.test(rest)))
        throw new Error(`a bare ${JSON.stringify(rest.slice(0, 20))}`)
      if (!rest.startsWith('\u200B')) visible += rest[0]!
      at += 1
    }
  }
  marks.end(line)
  return visible
}

function decodeEntities(text: string): string {
  return text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&')
}
