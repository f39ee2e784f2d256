/** The folders of each sandbox adapter. Adapters share the port and `hardening`. */
export const sandboxAdapters: Readonly<Record<string, readonly string[]>> = {
  docker: [
    'docker',
    'engine',
    'gvisor',
    'image',
    'isolation',
    'machine',
    'network',
    'own',
    'packages',
    'volume',
  ],
  kubernetes: ['kubernetes'],
  process: ['process'],
}

/** Files with which a mesh starts, besides its `main.ts`; each is imported when its command is known. */
export const startsOfMesh = [
  'packages/mesh/src/app/run-command-line.ts',
  'packages/mesh/src/app/commands/serve.ts',
] as const

/** Parts that a fleet may never need: imported by their first use. */
export const loadedOnFirstUse: readonly RegExp[] = [
  /^packages\/fleet\/src\/sandbox\/(?:docker|engine|gvisor|image|isolation|kubernetes|machine|network|own|packages|process|volume)\//,
  /^packages\/wallet\/src\/(?:create-wallet\.ts|chain|payments|prices|seed|solana)\b/,
  /^packages\/browsing\/src\/(?:create-browsers|act|sessions|control-browser|screen)\.ts/,
  /^packages\/inbound\/src\/channels\/adapters\/(?:telegram|discord|slack|whatsapp|webhook)\//,
]
