import { joinRuns, plainStyle } from '../text-run.ts'
import type { RunStyle, TextRun } from '../text-run.ts'
import type { Spelling } from './spelling.ts'

/** Telegram forgets what stands beyond, without a word. */
const entitiesMax = 100

/** Of one message before Telegram reads its marks, UTF-16 code units. */
const htmlCharsMax = 16_384

/**
 * What Telegram makes a mention of, or a link into itself, wherever it stands in the text. As code it is read the same,
 * and nobody is called by it.
 */
const acting = /(?<![\p{L}\p{N}_])@[A-Za-z0-9_]+|(?:tg|ton|tonsite):\/\/\S*/giu

/** HTML of Telegram's `parse_mode`; its length counts once the marks are read. */
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
  // Blanks alone show no mark.
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

/** Code stands alone: Telegram has nothing within it or around it but a quote. */
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

/** Looks at the text and not at the runs: a mention may be in two styles. */
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
