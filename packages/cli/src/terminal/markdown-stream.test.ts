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
    [
      '| Name | Sum |\n|---|--:|\n| **ann** | 5 |\n| a\\|b |\nEnd',
      'Name  Sum\n────  ───\nann     5\na|b\nEnd',
    ],
    ['|a|b|\n|-|-|\n|1|2|', 'a  b\n─  ─\n1  2'],
    ['|a|b|\n|-|-|\n|1|2|\n', 'a  b\n─  ─\n1  2\n'],
    ['| no table\nbut | pipes', '| no table\nbut | pipes'],
    ['```\n|a|\n|-|\n```', '<f>```</f>\n<n>|a|</n>\n<n>|-|</n>\n<f>```</f>'],
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
    const text = '# A **b**\n\n- `c` [d](https://e.example)\n```\nf\n```\n|a|b|\n|-|-|\n|1|2|\nend'
    const stream = createMarkdownStream(letters)
    expect(
      text
        .split('')
        .map((piece) => stream.write(piece))
        .join('') + stream.end(),
    ).toBe(rendered(text))
  })

  test('a table is fitted into the width, and a very long one is shown as it was written', () => {
    const words = 'several words that fill more than one line'
    const table = `| Name | Text |\n|---|---|\n| ann | ${words} |\n`
    const stream = createMarkdownStream(letters, 30)
    const lines = (stream.write(table) + stream.end()).trimEnd().split('\n')
    expect(lines.length).toBeGreaterThan(3)
    expect(Math.max(...lines.map((one) => one.length))).toBeLessThanOrEqual(30)
    const long = '|a|\n|-|\n' + '|1|\n'.repeat(500)
    expect(rendered(long).split('\n').length).toBeGreaterThan(500)
  })

  test('control characters neither color nor move the cursor, and a long line is shown as it is', () => {
    const hostile = rendered('**a\u001B[2Jb** `\u001B[31m` [x](https://e.example/\u001B]0;t\u0007)')
    expect(hostile).not.toContain('\u001B')
    const long = '*'.repeat(100_000)
    expect(rendered(long)).toBe(long)
  })
})
