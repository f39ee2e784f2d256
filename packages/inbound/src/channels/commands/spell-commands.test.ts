import { expect, test } from 'vitest'
import { channelCommands } from './command-table.ts'
import { spellCommands } from './spell-commands.ts'

test.each([
  ['Choose with /use and a name: scout', 'Choose with /flotilla use and a name: scout'],
  ['/help says what can be done.', '/flotilla help says what can be done.'],
  [
    '- /status [agent]: how\n- /stop [agent]: end',
    '- /flotilla status [agent]: how\n- /flotilla stop [agent]: end',
  ],
  ['(see /pending), or /reset: both', '(see /flotilla pending), or /flotilla reset: both'],
  ['never given here: see /pending.', 'never given here: see /flotilla pending.'],
  [
    'There is no /deploy; /help lists all commands.',
    'There is no /deploy; /flotilla help lists all commands.',
  ],
  [
    '/data/status, /status.txt and /status/x, /helper, /use-this, a/use',
    '/data/status, /status.txt and /status/x, /helper, /use-this, a/use',
  ],
])('on Slack %j is spelled %j, and elsewhere unchanged', (text, spelled) => {
  expect(spellCommands('slack', text)).toBe(spelled)
  for (const channel of ['telegram', 'discord', 'whatsapp', 'webhook'] as const)
    expect(spellCommands(channel, text)).toBe(text)
})

test('each command is spelled for Slack', () => {
  for (const { name } of channelCommands)
    expect(spellCommands('slack', `write /${name} and`)).toBe(`write /flotilla ${name} and`)
})
