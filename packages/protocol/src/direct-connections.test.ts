import { expect, test } from 'vitest'
import { usesEnvironmentProxy } from './direct-connections.ts'

test.each([
  [{ NODE_USE_ENV_PROXY: '1' }, [], true],
  [{ NODE_OPTIONS: '--use-env-proxy' }, [], true],
  [{ NODE_OPTIONS: '--max-old-space-size=100 --use_env_proxy' }, [], true],
  [{ NODE_OPTIONS: '"--use-env-proxy"' }, [], true],
  [{ NODE_OPTIONS: '--use-env-proxy=true' }, [], true],
  [{}, ['--use-env-proxy'], true],
  [{}, [], false],
  [{ NODE_OPTIONS: '--use-system-ca' }, ['--title=proxy'], false],
] as const)(
  'Node with %j and the options %j uses the proxies of the environment: %s',
  (env, execArgv, uses) => {
    expect(usesEnvironmentProxy({ env, execArgv: [...execArgv] })).toBe(uses)
  },
)
