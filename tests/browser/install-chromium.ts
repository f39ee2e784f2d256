import { findChromium, installChromium } from './chromium.ts'

/** Run by `npm test` while other tests are at work, so that those in a browser need not wait for it. */
if (findChromium() === null) installChromium()
