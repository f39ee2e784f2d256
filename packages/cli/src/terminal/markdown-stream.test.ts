import { describe, expect, test } from 'vitest'
import { createColor } from './color.ts'
import { createMarkdownStream } from './markdown-stream.ts'

/** Colors by letters, so that a test shows them. */
const letters = {
  ...createColor(false),
  strong: (text: string) => `<b>${text}</b>`,
  faint: (text: string) => `<f>${text}</f>`,
  name: (text: string) => `<n>${text}</n>`,
}
function rendered(markdown: string): string {
  const stream = createMarkdownStream(letters)
  return stream.write(markdown) + stream.end()
}

describe('an answer on a terminal with colors', () => {
  test.each([
    ['# Result', '<b>Result</b>'],
    ['## Two **words** ##', '<b>Two words</b>'],
    ['It is **right** and `ls -l` works', 'It is <b>right</b> and <n>ls -l</n> works'],
    ['- one\n  * two\n3. three', '• one\n  • two\n3. three'],
    ['- [ ] open\n- [x] done', '☐ open\n☑ done'],
    ['> said', '<f>│</f> said'],
    ['---', `<f>${'─'.repeat(40)}</f>`],
    ['[docs](https://example.com/a)', 'docs <f>(https://example.com/a)</f>'],
    ['[https://example.com](https://example.com)', 'https://example.com'],
    ['2 * 3 * 4 and a_b_c', '2 * 3 * 4 and a_b_c'],
    ['| a | b |\n|---|---|', '| a | b |\n|---|---|'],
    ['<b>raw</b>', '<b>raw</b>'],
  ])('%j is shown rendered', (markdown, shown) => {
    expect(rendered(markdown)).toBe(shown)
  })

  test('code keeps its text, and ends with its own fence only', () => {
    expect(rendered('````sh\n# **not** bold\n```\n````\n**bold**')).toBe(
      '<f>````sh</f>\n<n># **not** bold</n>\n<n>```</n>\n<f>````</f>\n<b>bold</b>',
    )
  })

  test('pieces of a stream give what the whole text gives', () => {
    const text = '# A **b**\n\n- `c` [d](https://e.example)\n```\nf\n```\nend'
    const stream = createMarkdownStream(letters)
    expect(
      text
        .split('')
        .map((piece) => stream.write(piece))
        .join('') + stream.end(),
    ).toBe(rendered(text))
  })

  test('control characters neither color nor move the cursor, and a long line is shown as it is', () => {
    const hostile = rendered('**a\u001B[2Jb** `\u001B[31m` [x](https://e.example/\u001B]0;t\u0007)')
    expect(hostile).not.toContain('\u001B')
    const long = '*'.repeat(100_000)
    expect(rendered(long)).toBe(long)
  })
})
