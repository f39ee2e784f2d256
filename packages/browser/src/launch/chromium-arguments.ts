import { screenSize } from './open-screen.ts'
import { nowhere } from './proxy-relay.ts'

/** How Chromium is started, beside what Playwright says by itself. Pure. */
export function chromiumArguments(relayPort: number): readonly string[] {
  return [
    `--proxy-server=127.0.0.1:${relayPort}`,
    // Chromium leaves loopback out of its proxy by itself; so that the mesh refuses it as well, it is not.
    '--proxy-bypass-list=<-loopback>',
    // The proxy resolves names. Whatever would be asked here is answered with nothing.
    '--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1',
    '--disable-quic',
    '--force-webrtc-ip-handling-policy=disable_non_proxied_udp',
    // What Chromium asks its maker by itself leads to a name that is nowhere; the relay knows it.
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
    // Threads are bounded by the container.
    '--renderer-process-limit=4',
  ]
}

/** What Playwright says by itself and is not wanted: pages may not open windows at will, and there is shared memory. */
export const unwantedArguments = ['--disable-popup-blocking', '--disable-dev-shm-usage']
