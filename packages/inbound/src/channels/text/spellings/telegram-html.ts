import { joinRuns, plainStyle } from '../text-run.ts'
import type { RunStyle, TextRun } from '../text-run.ts'
import type { Spelling } from './spelling.ts'

/** Telegram silently ignores further entities. */
const entitiesMax = 100

/** The maximum length of a message before Telegram parses its markup, in UTF-16 code units. */
const htmlCharsMax = 16_384

/** Matches text that Telegram turns into a mention or an internal link, and that has no effect within code. */
const acting = /(?<![\p{L}\p{N}_])@[A-Za-z0-9_]+|(?:tg|ton|tonsite):\/\/\S*/giu

/** HTML for Telegram's `parse_mode`. Telegram counts the length after parsing. */
export const telegramHtml: Spelling = {
  charsMax: 4096,
  keepsLinks: true,
  spell: (runs) => {
    const html: string[] = []
    const count = { entities: 0 }
    let isQuoted = false
    const whole = joinRuns(runs)
    for (const { text, style } of withoutActing(whole.runs, whole.text)) {
      if (style.quote !== isQuoted) {
        html.push(style.quote ? '<blockquote>' : '</blockquote>')
        if (style.quote) count.entities += 1
        isQuoted = style.quote
      }
      html.push(marked(text, style, count))
    }
    if (isQuoted) html.push('</blockquote>')
    const text = html.join('')
    const isTooMuch = count.entities > entitiesMax || text.length > htmlCharsMax
    return { text, size: isTooMuch ? Infinity : whole.text.length }
  },
}

function marked(text: string, style: RunStyle, count: { entities: number }): string {
  const escaped = escapeHtml(text)
  const tags = tagsOf(style)
  // Markup on whitespace is invisible.
  if (tags.length === 0 || (text.trim() === '' && style.block === null)) return escaped
  count.entities += tags.length
  return (
    tags.map(([open]) => open).join('') +
    escaped +
    tags
      .toReversed()
      .map(([, close]) => close)
      .join('')
  )
}

type Tag = readonly [open: string, close: string]

/** Returns the tags of a style. Telegram allows no other markup in or around code, except a quote. */
function tagsOf(style: RunStyle): readonly Tag[] {
  if (style.block !== null) {
    const { language } = style.block
    return language === ''
      ? [['<pre>', '</pre>']]
      : [[`<pre><code class="language-${escapeHtml(language)}">`, '</code></pre>']]
  }
  if (style.code) return [['<code>', '</code>']]
  const tags: Tag[] = []
  if (style.link !== null) tags.push([`<a href="${escapeHtml(style.link.href)}">`, '</a>'])
  if (style.bold) tags.push(['<b>', '</b>'])
  if (style.italic) tags.push(['<i>', '</i>'])
  if (style.strike) tags.push(['<s>', '</s>'])
  return tags
}

/** Writes mentions and internal links as code. Searches the joined text, because a mention may span two styles. */
function withoutActing(runs: readonly TextRun[], text: string): readonly TextRun[] {
  const ranges = [...text.matchAll(acting)].map(({ 0: found, index }) => [index, index + found.length])
  if (ranges.length === 0) return runs
  const guarded: TextRun[] = []
  let next = 0
  let start = 0
  for (const { text: own, style } of runs) {
    const end = start + own.length
    let at = start
    while (at < end) {
      while (next < ranges.length && ranges[next]![1]! <= at) next += 1
      const [from, to] = ranges[next] ?? [end, end]
      const isActing = from! <= at
      const until = Math.min(end, isActing ? to! : from!)
      const isHarmless = !isActing || style.code || style.block !== null
      guarded.push({
        text: own.slice(at - start, until - start),
        style: isHarmless ? style : { ...plainStyle, quote: style.quote, code: true },
      })
      at = until
    }
    start = end
  }
  return joinRuns(guarded).runs
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"]/g, (character) => escapes[character]!)
}

const escapes: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }
