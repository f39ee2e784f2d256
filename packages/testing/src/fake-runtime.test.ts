import { createFakeEngine, createFakeRuntime, endFakeSandbox } from './fake-runtime.ts'
import { sandboxRuntimeConformance } from '../../fleet/src/sandbox/sandbox-runtime.conformance.ts'

sandboxRuntimeConformance('fake', async () => {
  const engine = createFakeEngine()
  const open = () => createFakeRuntime({ engine })
  return {
    runtime: open(),
    again: async () => open(),
    answers: async () => {},
    shareOf: async (agentId) => engine.sandboxes.get(agentId)?.cpu ?? null,
    readFile: async (state, path) => engine.data.get(state.agentId)?.get(path) ?? null,
    writeFile: async (state, path, text) => void engine.data.get(state.agentId)?.set(path, text),
    endWith: async (state, code) =>
      endFakeSandbox(engine, { agentId: state.agentId, code, outOfMemory: false }),
    close: async () => {},
  }
})
