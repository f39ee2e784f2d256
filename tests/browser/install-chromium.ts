import { findChromium, installChromium } from './chromium.ts'

/** `npm test` runs this beside other tests, so that the browser tests need not wait for the installation. */
if (findChromium() === null) installChromium()
