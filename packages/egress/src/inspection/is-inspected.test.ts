import { expect, test } from 'vitest'
import { isInspected } from './is-inspected.ts'

test.each([
  ['api.example.org', ['api.example.org'], ['*.example.org'], true],
  ['www.example.org', ['api.example.org'], ['*.example.org'], false],
  ['api.example.org', ['*.example.org'], ['api.example.org'], false],
  ['www.example.org', ['*.example.org'], ['api.example.org'], true],
  ['a.deep.example.org', ['*.deep.example.org'], ['*.example.org'], true],
  ['a.deep.example.org', ['*.example.org'], ['*.deep.example.org'], false],
  ['a.example.org', ['*.example.org.'], ['*.example.org'], false],
  ['API.example.org', ['other.test'], [], false],
  ['api.example.org', ['API.Example.org.'], ['*.example.org'], true],
  ['api.example.org', ['api.example.org'], ['api.example.org'], false],
])('%s with inspected %j and tunnels %j is inspected: %s', (...[host, inspected, tunnels, expected]) => {
  expect(isInspected(host, { inspected_hosts: inspected, tunnel_hosts: tunnels })).toBe(expected)
})
