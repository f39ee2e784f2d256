import { expect, test } from 'vitest'
import { destinationDoubts } from './destination-doubts.ts'

const opened = ['192.168.1.20:8888', '127.0.0.1:3000']
const rules = {
  allowedPorts: [80, 443],
  isAllowed: (address: string) => !/^(?:127|192)\./.test(address),
  exceptions: {
    covers: ({ host, port }: { host: string; port: number }) => opened.includes(`${host}:${port}`),
    opens: (_address: string, port: number) => port !== 2375,
  },
}

test.each([
  ['https://api.github.com', null],
  ['http://127.0.0.1:3000', null],
  ['http://192.168.1.20:8888', null],
  ['http://127.0.0.1:3001', 'add "127.0.0.1:3001" to egress.allowed_private'],
  ['http://localhost:3001', 'add "localhost:3001" to egress.allowed_private'],
  ['https://192.168.1.20', 'add "192.168.1.20:443" to egress.allowed_private'],
  ['http://127.0.0.1:2375', 'no setting can allow'],
  ['https://api.example.org:8443', 'add 8443 to egress.allowed_ports'],
])('the doubt about %s is: %s', (address, said) => {
  const doubts = destinationDoubts(new URL(address), rules)
  if (said === null) expect(doubts).toEqual([])
  else expect(doubts).toEqual([expect.stringContaining(said)])
})

test("a host missing from this agent's list is reported together with other reasons", () => {
  const listed = { ...rules, isHostAllowed: (host: string) => host === 'api.github.com' }
  expect(destinationDoubts(new URL('https://api.github.com'), listed)).toEqual([])
  expect(destinationDoubts(new URL('https://wiki.example:8443'), listed)).toEqual([
    expect.stringContaining('does not list wiki.example: add the host'),
    expect.stringContaining('add 8443 to egress.allowed_ports'),
  ])
})
