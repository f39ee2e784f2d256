import { expect, test } from 'vitest'
import { channelFindings } from './channel-findings.ts'

test('a rejected channel is an error and one that may recover a warning, each with its repair', () => {
  expect(
    channelFindings([
      { name: 'slack', state: 'refused', detail: 'no such token', repair: 'Set another.' },
      { name: 'discord', state: 'failing', detail: 'no answer', repair: '' },
    ]),
  ).toEqual([
    { id: 'channel', level: 'error', detail: 'slack: no such token', repair: 'Set another.' },
    {
      id: 'channel',
      level: 'warning',
      detail: 'discord: no answer',
      repair: 'The mesh retries automatically; flotilla channels shows the state.',
    },
  ])
})
