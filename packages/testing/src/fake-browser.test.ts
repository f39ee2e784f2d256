import { browserContainersConformance } from '../../fleet/src/sandbox/browser-containers.conformance.ts'
import { createFakeBrowserContainers } from './fake-browser.ts'

browserContainersConformance('the place in memory', async () => ({
  containers: createFakeBrowserContainers(),
  listen: async () => {},
  specOf: (agentId) => ({
    agentId,
    meshPublicKey: 'key',
    proxyPort: 8421,
    briefingDirectory: '/briefing',
    profileLimitBytes: 1024,
  }),
}))
