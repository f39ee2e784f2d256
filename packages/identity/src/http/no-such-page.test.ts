import { expect, test } from 'vitest'
import { wantsPage } from './no-such-page.ts'

const browser = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }

test.each([
  ['a browser at an unknown address', 'GET', '/fleets', browser, true],
  ['a browser at an address with a query', 'GET', '/apiary?x=/api/', browser, true],
  ['a program', 'GET', '/fleets', { accept: '*/*' }, false],
  ['a program without the header', 'GET', '/fleets', {}, false],
  ['a browser that sends', 'POST', '/fleets', browser, false],
  ['a browser at an unknown path of the API', 'GET', '/api/nothing', browser, false],
  ['a browser at the API itself', 'GET', '/api', browser, false],
  ['a browser at a missing file', 'GET', '/assets/old.js', browser, false],
] as const)(
  'an unknown address gets a page where a person opened it: %s',
  (...[, method, url, headers, is]) => {
    expect(wantsPage({ method, url, headers })).toBe(is)
  },
)
