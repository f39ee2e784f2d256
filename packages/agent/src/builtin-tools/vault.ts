import { generatedCharsets, vaultAgentEndpoints, vaultLimits } from '@flotilla/protocol/vault-api'
import { choice, integer, text, withDefault } from '../tools/parameters.ts'
import { defineTool, meshToolTimeoutMs, succeeded } from '../tools/tool.ts'
import type { Tool } from '../tools/tool.ts'

const nameMaxChars = 128
const { lengthMin, lengthMax, lengthDefault } = vaultLimits.generated

/** Credentials by name and handle; a value never enters the container. */
export function vaultTools(): Tool[] {
  return [
    defineTool({
      name: 'vault_list',
      description: 'Lists the credentials that you may use: name, handle, and the hosts that may receive it.',
      parameters: {},
      effect: 'none',
      parallelSafe: true,
      timeoutMs: meshToolTimeoutMs,
      run: async (_values, { mesh, signal }) =>
        succeeded(await mesh.call({ endpoint: vaultAgentEndpoints.vaultList, signal })),
    }),
    defineTool({
      name: 'vault_generate_secret',
      description:
        'Creates a random password or key and returns its handle, never its value. The owner must bind it to a host before it can be used.',
      parameters: {
        name: text('Name of the new credential: letters, digits and _', {
          minChars: 1,
          maxChars: nameMaxChars,
        }),
        length: withDefault(integer('Characters', { min: lengthMin, max: lengthMax }), lengthDefault),
        charset: withDefault(choice('Which characters', generatedCharsets), 'urlsafe'),
      },
      effect: 'mesh',
      timeoutMs: meshToolTimeoutMs,
      run: async (body, { mesh, signal, idempotencyKey }) =>
        succeeded(
          await mesh.call({ endpoint: vaultAgentEndpoints.vaultGenerate, body, signal, idempotencyKey }),
        ),
    }),
    defineTool({
      name: 'request_credential',
      description:
        'Asks the owner for a credential that you need. Then end your turn: the answer arrives as a new message. Never ask a person to write a password or key into a chat.',
      parameters: {
        name: text('Name for the credential: letters, digits and _', { minChars: 1, maxChars: nameMaxChars }),
        service: text('The service that it is for, with its host', {
          minChars: 1,
          maxChars: vaultLimits.serviceMaxChars,
        }),
        description: text('What you need it for, and which rights it should have', {
          minChars: 1,
          maxChars: vaultLimits.descriptionMaxChars,
        }),
      },
      effect: 'mesh',
      timeoutMs: meshToolTimeoutMs,
      run: async (body, { mesh, signal, idempotencyKey }) =>
        succeeded(
          await mesh.call({ endpoint: vaultAgentEndpoints.credentialRequest, body, signal, idempotencyKey }),
        ),
    }),
  ]
}
