import { expect, it } from 'vitest'
import { usageRows, wrapWords } from './usage-rows.ts'

const rows = [
  { words: '/use <agent>', summary: 'Switches to another agent' },
  { words: '/cron list | run <job> | why <job> | pause <job>', summary: 'Jobs by the clock' },
]

it('the list of commands puts what a command does beside it, and below it where the command is long', () => {
  expect(usageRows(rows, 80)).toEqual([
    '/use <agent>  Switches to another agent',
    '/cron list | run <job> | why <job> | pause <job>',
    '              Jobs by the clock',
  ])
})

it('the list of commands breaks between words, under the first of them', () => {
  expect(usageRows(rows.slice(0, 1), 62)).toEqual(['/use <agent>  Switches to another agent'])
  const long = [
    { words: '/reset', summary: 'Archives this conversation with all that was said in it, and begins anew' },
  ]
  expect(usageRows(long, 60)).toEqual([
    '/reset  Archives this conversation with all that was said',
    '        in it, and begins anew',
  ])
})

it('the list of commands puts it below every command in a narrow terminal, and keeps a long word whole', () => {
  expect(usageRows(rows.slice(0, 1), 24)).toEqual(['/use <agent>', '    Switches to another', '    agent'])
  expect(wrapWords('a https://example.com/long b', 10)).toEqual(['a', 'https://example.com/long', 'b'])
})
