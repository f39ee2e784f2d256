import { writeFileSync } from 'node:fs'
import { converse, beat, startBilledMesh } from './tests/support/billed-conversation.ts'
import { startCachingProvider } from './tests/support/caching-provider.ts'
for (const wire of ['openai','anthropic'] as const) {
  const provider = await startCachingProvider(wire)
  const mesh = await startBilledMesh(wire, provider)
  for (const agent of ['operator','worker']) {
    const at = provider.bodies().length
    await converse(mesh, provider, agent)
    await beat(mesh, provider, { agent, times: 4 })
    writeFileSync(`/tmp/bodies-${wire}-${agent}.json`, JSON.stringify(provider.bodies().slice(at)))
    writeFileSync(`/tmp/bills-${wire}-${agent}.json`, JSON.stringify(provider.bills().slice(at)))
  }
  await mesh.stop(); await provider.close()
}
