import process from 'node:process'
import { channelNames } from '@flotilla/protocol/people'
import type { ChannelName } from '@flotilla/protocol/people'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readSpelled } from '../../../../testing/src/read-spelled-text.ts'
import { answerCharsMax, cleanText } from './clean-text.ts'
import { createReadMarkdown } from './read-markdown.ts'
import type { ReadMarkdown } from './read-markdown.ts'
import { channelCharsMax, createPacedSplit, createSplitSteps, createSplitText } from './split-text.ts'
import type { TextRun } from './text-run.ts'

/** The least CPU time that is compared, in microseconds: systems count it in ticks of up to 10 ms. */
const leastCpuUs = 50_000

const splitText = createSplitText()
const steps = createReadMarkdown()
const read = (markdown: string, keepsLinks: boolean): ReadMarkdown => {
  const reading = steps(markdown, keepsLinks)
  for (;;) {
    const step = reading.next()
    if (step.done === true) return step.value
  }
}

const pieces = (channel: ChannelName, text: string, lead = ''): readonly string[] =>
  splitText({ channel, text, format: 'markdown', lead }).pieces

/** The visible text without what differs on purpose: whitespace, the replaced backtick, the `@` in addresses. */
const readable = (text: string) =>
  text
    .replace(/\s+/g, '')
    .replaceAll('\u2035', '`')
    .replaceAll('%40', '@')
    .replaceAll(/[\u200B\u2060]/g, '')

/** The first difference of two texts with its context; empty if they are equal. */
function firstDifference(one: string, other: string): string {
  if (one === other) return ''
  let at = 0
  while (one[at] === other[at]) at += 1
  return [one, other].map((text) => text.slice(Math.max(0, at - 30), at + 30)).join(' / ')
}

const seen = (channel: ChannelName, spelled: readonly string[]) =>
  spelled.map((piece) => readSpelled[channel](piece))

/** The webhook channel sends Markdown as it is, at most with a closing fence; it is read as Markdown then. */
const seenOf = (channel: ChannelName, spelled: readonly string[], source: string) =>
  spelled.map((piece) =>
    channel === 'webhook' && piece.includes(source.trim())
      ? read(piece, true).text
      : readSpelled[channel](piece),
  )

const words = fc.oneof(
  fc.constantFrom(
    'word',
    'naïve',
    'Ελλάδα',
    'Привет, мир.',
    'שלום עולם',
    'مرحبا بالعالم',
    'สวัสดีชาวโลก',
    'नमस्ते दुनिया',
    'こんにちは。',
    '漢字',
    '한국어',
    '👩‍👩‍👧‍👦',
    '🏳️‍🌈',
    '🇩🇪🇫🇷',
    '👍🏽',
    'e\u0301',
    'क्षि',
    '🏴\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}',
    '@everyone',
    '@here',
    '<@123456>',
    '<@&1>',
    '<!channel>',
    '<#99>',
    '@someone',
    'tg://user?id=7',
    '<b>',
    '&amp;',
    '</pre>',
    'snake_case_name',
    '2*3*4',
    '* x *',
    '`',
    '``',
    '```',
    '~~',
    '**',
    '_',
    '\\',
    '|',
    '>',
    '#',
    '[',
    '](',
    '<',
    '\u202Ehidden\u202C',
    '\u200Bx',
  ),
  fc.string({ unit: 'grapheme', maxLength: 20 }),
)
const inline = fc.oneof(
  { weight: 5, arbitrary: words },
  { weight: 1, arbitrary: words.map((text) => `**${text}**`) },
  { weight: 1, arbitrary: words.map((text) => `*${text} **and ${text}***`) },
  { weight: 1, arbitrary: words.map((text) => `~~${text}~~`) },
  { weight: 1, arbitrary: words.map((text) => `\`${text}\``) },
  {
    weight: 1,
    arbitrary: words.map((text) => `[${text}](https://example.com/a_b?c=d&e=@f|g#${'h'.repeat(30)})`),
  },
  {
    weight: 1,
    arbitrary: words.map(
      (text) => `[${text} **x**](javascript:alert(1)) ![${text}](https://i.example/p.png)`,
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      'https://example.com/_a_/b*c*',
      '<https://example.org/x>',
      'http://user:pw@x.example',
    ),
  },
)
const paragraph = fc
  .tuple(
    fc.array(inline, { minLength: 1, maxLength: 12 }),
    fc.constantFrom(' ', ' ', '\n', ''),
    fc.integer({ min: 1, max: 20 }),
  )
  .map(([parts, between, times]) => Array.from({ length: times }, () => parts.join(between)).join(' '))
const block = fc.oneof(
  { weight: 5, arbitrary: paragraph },
  { weight: 1, arbitrary: paragraph.map((text) => `# ${text}`) },
  { weight: 1, arbitrary: paragraph.map((text) => `> ${text}\n> > ${text}`) },
  {
    weight: 2,
    arbitrary: fc
      .array(paragraph, { maxLength: 5 })
      .map((items) => items.map((item, at) => `${at % 2 ? '  ' : ''}- ${item}`).join('\n')),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(fc.constantFrom('', 'ts', 'c++', 'a"b<'), paragraph)
      .map(([language, text]) => `~~~${language}\n${text.replaceAll(' ', '\n  ')}\n~~~`),
  },
  {
    weight: 1,
    arbitrary: fc
      .array(words, { minLength: 1, maxLength: 4 })
      .map((cells) => `|a|b|\n|-|-|\n${cells.map((cell) => `|${cell}|x|`).join('\n')}`),
  },
)
const markdown = fc
  .array(block, { minLength: 1, maxLength: 6 })
  .map((blocks) => blocks.join('\n\n').slice(0, answerCharsMax - 1))

const indentedLines = fc
  .array(
    fc
      .tuple(
        fc.constantFrom('', ' ', '   ', '    ', '\t', ' \t'),
        fc.constantFrom('```', '~~~', 'word', '- a', ''),
      )
      .map(([indent, line]) => indent + line),
    { minLength: 1, maxLength: 6 },
  )
  .map((lines) => lines.join('\n'))

/** Code with visible text: a block of blank lines shows nothing, and may be dropped. */
function isShownCode({ text, style }: TextRun): boolean {
  return style.block !== null && text.trim() !== ''
}

test('a text that begins with indented lines has the same words and code on the webhook channel', () => {
  fc.assert(
    fc.property(indentedLines, (text) => {
      const [piece] = pieces('webhook', text)
      const whole = read(cleanText(text).text, true)
      expect(piece === undefined).toBe(whole.text.trim() === '')
      if (piece === undefined) return
      const sent = read(piece, true)
      expect(sent.openFence).toBe('')
      expect(sent.text.trim()).toBe(whole.text.trim())
      expect(sent.runs.some(isShownCode)).toBe(whole.runs.some(isShownCode))
    }),
    { numRuns: 500 },
  )
})

test('an indented fence at the beginning stays code on the webhook channel', () => {
  expect(pieces('webhook', '\n\t```\ncode\n\nafter')).toEqual(['\t```\ncode\n\nafter'])
})

const everyChannel = channelNames.map((channel) => [channel] as const)

describe.each(everyChannel)('the text of an agent, for %s', (channel) => {
  const sizeOf = (piece: string) =>
    channel === 'telegram' ? readSpelled.telegram(piece).length : piece.length

  test('every part is within the limit and closed, and no visible text is lost', () => {
    fc.assert(
      fc.property(markdown, fc.constantFrom('', '[coder]'), (text, lead) => {
        const made = pieces(channel, text, lead)
        for (const piece of made) expect(sizeOf(piece)).toBeLessThanOrEqual(channelCharsMax[channel])
        const whole = read(cleanText(text).text, channel !== 'whatsapp').text
        const joined = seenOf(channel, made, cleanText(text).text).map((piece) =>
          readable(piece).replace(readable(lead), ''),
        )
        expect(firstDifference(joined.join(''), readable(whole))).toBe('')
      }),
      { numRuns: 25, endOnFailure: true },
    )
  })

  test('the text mentions no one and contains no internal links of the platform', () => {
    fc.assert(
      fc.property(markdown, (text) => {
        for (const piece of pieces(channel, text)) {
          if (channel === 'telegram') {
            // Code is inactive, but its letters still adjoin the text next to it.
            const loose = piece
              .replace(/<(code|pre)\b[\s\S]*?<\/\1>/g, (code) =>
                code.replaceAll('@', '.').replaceAll('//', '..'),
              )
              .replace(/<[^>]*>/g, '')
            expect(/.{0,60}(?:(?<![\p{L}\p{N}_])@\w|tg:\/\/).{0,20}/u.exec(loose)?.[0]).toBeUndefined()
            expect(piece).not.toMatch(/href="(?!https?:)/)
          } else if (channel !== 'webhook') {
            expect(piece).not.toMatch(/@(?:everyone|here)/i)
            if (channel !== 'whatsapp') expect(piece).not.toMatch(/<[@!#]/)
            if (channel === 'discord') expect(piece).not.toMatch(/\]\(<(?!https?:)/)
          }
          expect(cleanText(piece).text).toBe(piece.replaceAll('\u2060', '').replaceAll('\u200B', ''))
        }
      }),
      { numRuns: 12, endOnFailure: true },
    )
  })

  test('no character is cut', () => {
    const characters = [
      '👩‍👩‍👧‍👦',
      '🇩🇪',
      'e\u0301',
      '👍🏽',
      'क्षि',
      '🏴\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}',
      '𝒳',
    ]
    for (const character of characters) {
      const text = character.repeat(Math.ceil(9000 / character.length))
      const made = seen(channel, pieces(channel, text))
      for (const piece of made) expect(piece.replaceAll(character, '')).toBe('')
      expect(made.join('')).toBe(text)
    }
  })

  test('a character that fills several messages is cut between its code points', () => {
    const endless = '👩\u200D'.repeat(8000)
    for (const piece of pieces(channel, endless)) {
      expect(sizeOf(piece)).toBeLessThanOrEqual(channelCharsMax[channel])
      expect(piece.isWellFormed()).toBe(true)
    }
  })

  test("each part begins with the agent's name", () => {
    const made = pieces(channel, `${'word '.repeat(7000)}\n\n[operator] do it`, '[coder]')
    expect(made.length).toBeGreaterThan(1)
    for (const piece of seen(channel, made)) expect(piece).toMatch(/^\[coder\]\s/)
  })

  test('text above the limit ends with a note that it was cut', () => {
    const { pieces: made, wasCut } = splitText({
      channel,
      text: 'x '.repeat(100_000),
      format: 'markdown',
      lead: '',
    })
    expect(wasCut).toBe(true)
    expect(made.join('').length).toBeLessThan(50_000)
    expect(seen(channel, made).at(-1)).toMatch(/\[cut\]$/)
  })

  test('plain text without markup is kept', () => {
    const text = '# not *a* heading `x` <b> 1 & 2 [a](https://b.example)'
    const made = splitText({ channel, text, format: 'plain', lead: '' }).pieces
    expect(seen(channel, made).map(readable)).toEqual([readable(text)])
  })

  test('empty text gives no parts', () => {
    for (const text of ['', ' \n\n ', '\u200B\u202E', '```\n```']) expect(pieces(channel, text)).toEqual([])
  })
})

/** Each kind for one channel, and each channel with one kind. The soak tests cover all pairs. */
const channelsOf = (kind: number) =>
  process.env['FLOTILLA_SOAK'] === '1'
    ? channelNames
    : channelNames.filter((_channel, at) => at === kind % channelNames.length)

test('an answer that is cut off ends with a whole word, so that no address becomes a shorter one', () => {
  const address = `https://example.com/${'a'.repeat(300)}`
  const before = 'word '.repeat((answerCharsMax - 100) / 5)
  expect(cleanText(`${before}${address} and more`)).toEqual({ text: before, wasCut: true })
  expect(cleanText('x'.repeat(answerCharsMax + 1)).text).toHaveLength(answerCharsMax)
})

describe('hostile text', () => {
  test.each([
    ['bold words', 0, '**a** '],
    ['code', 1, '`a` '],
    ['tables', 2, 'a|b\n-|-\n'],
    ['lists', 3, '- a\n  - b\n'],
    ['quotes', 4, '> a\n\n'],
  ])('hostile text of %s yields to the event loop and gives the same parts', async (_name, kind, part) => {
    const text = part.repeat(answerCharsMax / part.length)
    for (const channel of channelsOf(kind)) {
      const split = { channel, text, format: 'markdown', lead: '[coder]' } as const
      let turns = 0
      const made = await createPacedSplit(async () => void turns++)(split)
      expect(turns).toBeGreaterThan(0)
      const work = createSplitSteps()(split)
      let steps = 0
      let step = work.next()
      for (; step.done !== true; step = work.next()) steps++
      expect(made).toEqual(step.value)
      expect(steps).toBeGreaterThan(20)
    }
  })
})

describe('an endless paragraph', () => {
  test('an endless paragraph is parsed in parts, and no visible text is lost', () => {
    const words = Array.from({ length: 4000 }, (_one, n) => `w${n}`)
    const made = pieces('discord', words.join(' '))
    expect(made.join(' ').split(/\s+/)).toEqual(words)
    const endless = '👩'.repeat(10_000)
    expect(pieces('discord', endless).join('')).toBe(endless)
  })
})

describe('places to cut', () => {
  const paragraphOf = (letter: string, length: number) => `${letter} `.repeat(length / 2).trim()

  test('text is cut between paragraphs first', () => {
    const made = pieces('discord', `${paragraphOf('a', 1200)}\n\n${paragraphOf('b', 1200)}`)
    expect(made).toEqual([paragraphOf('a', 1200), paragraphOf('b', 1200)])
  })

  test('text is then cut between lines, sentences and words', () => {
    expect(pieces('discord', `${paragraphOf('a', 1200)}\n${paragraphOf('b', 1200)}`)[0]).toBe(
      paragraphOf('a', 1200),
    )
    const sentence = `${'word '.repeat(200).trim()}. `
    expect(pieces('discord', sentence.repeat(3))[0]).toBe(sentence.trim())
    for (const piece of pieces('discord', 'seven77 '.repeat(600)))
      expect(piece).toMatch(/^seven77( seven77)*$/)
  })

  test('a code block continues as code of its language', () => {
    const code = Array.from({ length: 300 }, (_, line) => `  const x${line} = ${line}`).join('\n')
    const discord = pieces('discord', `\`\`\`ts\n${code}\n\`\`\``)
    expect(discord.length).toBeGreaterThan(2)
    for (const piece of discord) expect(piece).toMatch(/^```ts\n {2}const x\d+ = [\s\S]*\n```$/)
    for (const piece of pieces('telegram', `\`\`\`ts\n${code}\n\`\`\``)) {
      expect(piece).toMatch(/^<pre><code class="language-ts"> {2}const x\d+ = [\s\S]*<\/code><\/pre>$/)
    }
  })

  test('a link and emphasized text move to the next part as a whole', () => {
    const link = '[a label of several words](https://example.com/path)'
    const made = pieces('slack', `${'x '.repeat(1490)}${link} **bold and more words**`)
    expect(made[1]).toBe('<https://example.com/path|a label of several words> *bold and more words*')
  })
})

describe('hostile markup', () => {
  test('no HTML is passed on', () => {
    const html = '<script>alert(1)</script><img src=x onerror=y> <a href="tg://user?id=1">x</a>'
    expect(pieces('telegram', html)[0]).not.toMatch(/<(?!\/?code>)/)
    expect(pieces('webhook', html)[0]).toMatch(/^\\<script\\>/)
  })

  test('a mention in two styles mentions no one', () => {
    expect(pieces('telegram', '@some**one** x@some')[0]).toBe('<code>@someone</code> x@some')
  })

  test('a link leads where its label says, or its address is shown', () => {
    const of = (text: string) => pieces('telegram', text)[0]
    expect(of('[https://bank.example](https://evil.example/x)')).toBe(
      'https://bank.example (https://evil.example/x)',
    )
    expect(of('[bank.example](https://www.bank.example/in)')).toBe(
      '<a href="https://www.bank.example/in">bank.example</a>',
    )
    expect(of('[bank](https://bank.example@evil.example)')).toBe('bank (https://bank.example@evil.example)')
    expect(of('[x](javascript:alert(1)) [y](data:text/html,z) [z](tg://resolve?domain=q)')).toBe('x y z')
    expect(of('[mail](mailto:a@b.example) [file](docs/a.md)')).toBe('mail (a@b.example) file (docs/a.md)')
    expect(pieces('whatsapp', '[docs](https://example.com/)')[0]).toBe('docs (https://example.com/)')
    // A separator beside an underscore would break the address.
    const address = 'https://example.com/~ann/_next/Foo_(bar)'
    expect(pieces('whatsapp', `[docs](${address})`)).toEqual([`docs (${address})`])
  })

  test('a reference that is used a thousand times does not enlarge the answer a thousand times', () => {
    const text = `${'[a] '.repeat(7000)}\n\n[a]: https://example.com/${'x'.repeat(700)}`
    for (const [channel] of everyChannel) expect(pieces(channel, text).join('').length).toBeLessThan(150_000)
  })

  test.each([
    ['marks', '*a_ '],
    ['brackets', '!['],
    ['quotes', '> '],
    ['quoted lines', '> a\n\n'],
    ['bold words', '**a** '],
    ['words of one link', '**a** b '],
    ['mentions', '@a '],
    ['ticks', 'e`` '],
    ['addresses', 'http://a.b/( '],
    ['addresses without a scheme', '//a.b/'],
    ['rows', '|x|y|\n|-|-|\n'],
    ['combined marks', 'e\u0301\u0302'],
    ['emoji', '👩‍👩‍👧'],
  ])('four times as many %s take about four times as long', (name, part) => {
    // Both measurements do the same work: the short text, which is split for most channels too, is split four times.
    // With quadratic work the long text takes four times as long. Only the CPU time of this thread counts, summed
    // over rounds, because a busy machine suspends the thread at any time.
    const cpuOf = (chars: number, times: number) => {
      const repeated = part.repeat(chars / part.length)
      const text = name === 'words of one link' ? `[${repeated}](https://example.com/)` : repeated
      const before = process.threadCpuUsage()
      for (let time = 0; time < times; time++) for (const [channel] of everyChannel) pieces(channel, text)
      const { user, system } = process.threadCpuUsage(before)
      return user + system
    }
    cpuOf(8000, 1)
    let [short, long] = [0, 0]
    for (let round = 0; round < 20 && !(short >= leastCpuUs && long / short < 2.5); round++) {
      short += cpuOf(8000, 4)
      long += cpuOf(32_000, 1)
    }
    expect(long / Math.max(short, leastCpuUs)).toBeLessThan(2.5)
  })
})

test('an address with an @ stays one address', () => {
  const text = 'https://example.com/*c*@everyone**x'
  expect(pieces('whatsapp', text)).toEqual([text.replace('@', '%40')])
})
