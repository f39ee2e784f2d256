import { screenSize } from './open-screen.ts'
import { nowhere } from './proxy-relay.ts'

/** Chromium's arguments in addition to Playwright's defaults. Pure. */
export function chromiumArguments(relayPort: number): readonly string[] {
  return [
    `--proxy-server=127.0.0.1:${relayPort}`,
    // By default Chromium bypasses the proxy for loopback; this disables it, so that the mesh can reject loopback.
    '--proxy-bypass-list=<-loopback>',
    // The proxy resolves names, so every local name lookup fails.
    '--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1',
    '--disable-quic',
    '--force-webrtc-ip-handling-policy=disable_non_proxied_udp',
    // Chromium's own requests to Google go to a name that does not exist, and the relay rejects them.
    `--gaia-url=https://${nowhere}`,
    `--component-updater=url-source=https://${nowhere}/`,
    '--no-pings',
    '--disable-crash-reporter',
    '--disable-domain-reliability',
    '--disable-client-side-phishing-detection',
    '--restore-last-session',
    '--hide-crash-restore-bubble',
    `--window-size=${screenSize.width},${screenSize.height}`,
    '--window-position=0,0',
    '--disable-gpu',
    // Limits renderer processes, because the container limits threads.
    '--renderer-process-limit=4',
  ]
}

/** Defaults of Playwright that are removed: pages must not open pop-ups at will, and shared memory is available. */
export const unwantedArguments = ['--disable-popup-blocking', '--disable-dev-shm-usage']
