import { browserLimits } from '@flotilla/protocol/browser-service-api'
import { expect, test } from 'vitest'
import { createManualClock } from '../../../protocol/src/testing/manual-clock.ts'
import { maskStyle } from '../actions/mask.ts'
import { createFrontPicture } from './front-picture.ts'
import type { Live } from './living-browser.ts'
import { createSecrets } from './secrets.ts'

type Options = { readonly quality: number; readonly style: string }

const clock = createManualClock()

/** A browser whose front tab gives these pictures. */
function showing(take: (options: Options) => Promise<Buffer>) {
  const requests: Options[] = []
  const screenshot = (options: Options) => {
    requests.push(options)
    return take(options)
  }
  const pages = [{}, { screenshot }]
  const live = { tabs: { pages, index: () => 1 }, secrets: createSecrets() } as unknown as Live // only the picture of a tab is requested
  return { asked: requests, picture: createFrontPicture({ live }, clock) }
}

test('the picture of a browser is the tab in front, with secrets covered, taken once for all who ask at the same time', async () => {
  const { asked, picture } = showing(async () => Buffer.from('seen'))
  expect(await Promise.all([picture(), picture()])).toEqual([Buffer.from('seen'), Buffer.from('seen')])
  expect(asked).toMatchObject([{ style: expect.stringContaining(maskStyle) }])
  await picture()
  expect(asked).toHaveLength(2)
})

test('the picture of a browser is null without a browser, without a tab, and if the page gives no picture', async () => {
  expect(await createFrontPicture({ live: null }, clock)()).toBeNull()
  const empty = { tabs: { pages: [], index: () => 0 } } as unknown as Live // without tabs
  expect(await createFrontPicture({ live: empty }, clock)()).toBeNull()
  expect(await showing(() => Promise.reject(new Error('Timeout 3000ms exceeded'))).picture()).toBeNull()
})

test('the picture of a browser is drawn more coarsely where it is too large, and left out where that is not enough', async () => {
  const large = Buffer.alloc(browserLimits.pictureMaxBytes + 1)
  const coarser = showing(async ({ quality }) => (quality > 20 ? large : Buffer.from('small')))
  expect(await coarser.picture()).toEqual(Buffer.from('small'))
  expect(await showing(async () => large).picture()).toBeNull()
})
