import { inFile } from './equivalent.ts'
import type { Equivalent } from './equivalent.ts'

export const equivalentsOfEgress: readonly Equivalent[] = [
  ...inFile('packages/egress/src/egress/policy/public-addresses.ts', [
    ...[
      ["if (isIP(address) === 0 || address.includes('%')) return false", 'isIP(address) === 0', 'false'],
      [
        'return isIP(address) !== 0 && loopback[family].check(address, family)',
        'isIP(address) !== 0',
        'true',
      ],
      [
        'return (address) => isIP(address) !== 0 && lists[familyOf(address)].check(address, familyOf(address))',
        'isIP(address) !== 0',
        'true',
      ],
    ].map(([line = '', asked = '', answer = '']) => ({
      line,
      becomes: line.replace(asked, answer),
      reason: 'what is no address is in no list of Node’s either, though nowhere it says so',
    })),
    ...['globalUnicast.check(address, "") &&', '!notPublic.ipv6.check(address, "")'].map((becomes) => ({
      line: becomes.replace('""', "'ipv6'"),
      becomes,
      reason: 'Node takes every family but ipv4 for ipv6',
    })),
    ...[
      `const [head = "Stryker was here!", tail] = new URL(\`http://[\${address}]/\`).hostname.slice(1, -1).split('::')`,
      `const [head = '', tail] = new URL(\`http://[\${address}]/\`).hostname.split('::')`,
    ].map((becomes) => ({
      line: "const [head = '', tail] = new URL(`http://[${address}]/`).hostname.slice(1, -1).split('::')",
      becomes,
      reason: 'only the fifth and the sixth group are read, and brackets are only in the first and the last',
    })),
    ...[
      "false ? [] : part.split(':').map((hex) => Number.parseInt(hex, 16))",
      `part === "Stryker was here!" ? [] : part.split(':').map((hex) => Number.parseInt(hex, 16))`,
      `part === '' ? ["Stryker was here"] : part.split(':').map((hex) => Number.parseInt(hex, 16))`,
    ].map((becomes) => ({
      line: "part === '' ? [] : part.split(':').map((hex) => Number.parseInt(hex, 16))",
      becomes,
      reason: 'a public address does not begin with the gap, and nothing is read after a gap at its end',
    })),
  ]),
  ...inFile(
    'packages/egress/src/egress/policy/destination.ts',
    [String.raw`/\[|\]$/g`, String.raw`/^\[|\]/g`].map((form) => ({
      line: String.raw`const host = url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')`,
      becomes: String.raw`const host = url.hostname.replace(${form}, '').replace(/\.$/, '')`,
      reason: 'brackets stand at the ends of a host that was parsed, and nowhere else',
    })),
  ),
  ...inFile('packages/egress/src/egress/policy/host-list.ts', [
    {
      line: "return parseHostAndPort(`${host.includes(':') ? `[${host}]` : host}:80`)?.host ?? ''",
      becomes:
        'return parseHostAndPort(`${host.includes(\':\') ? `[${host}]` : host}:80`)?.host ?? "Stryker was here!"',
      reason: 'no host is spelled so, as none is empty',
    },
  ]),
  ...inFile('packages/egress/src/egress/policy/check-destination.ts', [
    {
      line: 'if (!inside.every(({ address }) => deps.exceptions?.opens(address, port))) {',
      becomes: 'if (!inside.every(({ address }) => deps.exceptions.opens(address, port))) {',
      reason: 'without exceptions the line above has refused what is inside',
    },
    ...['{}', '{ once: false }'].map((options) => ({
      line: "signal.addEventListener('abort', giveUp, { once: true })",
      becomes: `signal.addEventListener('abort', giveUp, ${options})`,
      reason: 'a signal aborts once',
    })),
  ]),
]
