import { expect, test } from 'vitest'
import { anchorsIn } from './coverage-sections.ts'

test('a page has the anchors of its headings, and none for lines inside code blocks', () => {
  const page =
    '# Run ledger\ntext\n## Who may call?\n```sh\n# a comment\n```\n### R1: `queued` first\n#not one\n'
  expect([...anchorsIn(page)]).toEqual(['run-ledger', 'who-may-call', 'r1-queued-first'])
})
