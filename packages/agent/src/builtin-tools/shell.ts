import type { Clock } from '@flotilla/protocol/clock'
import type { DataFiles } from '../files/data-files.ts'
import { integer, text, withDefault } from '../tools/parameters.ts'
import { defineTool } from '../tools/tool.ts'
import type { Tool } from '../tools/tool.ts'
import { runProgram } from './run-program.ts'
import type { ProgramEnd } from './run-program.ts'

const timeoutMaxSeconds = 300

/**
 * Runs programs in the data directory with the program environment, in a process group of their own. The
 * group is killed on timeout or when the run is aborted.
 */
export function shellTools(deps: {
  files: DataFiles
  environment: Readonly<Record<string, string>>
  clock: Clock
}): Tool[] {
  return [
    defineTool({
      name: 'run_command',
      description:
        'Runs a command line with bash in /data; returns its exit code and output. Each call is a new shell.',
      parameters: {
        command: text('The command line', { minChars: 1, maxChars: 100_000 }),
        timeout_s: withDefault(integer('Seconds until it is killed', { min: 1, max: timeoutMaxSeconds }), 30),
        workdir: withDefault(text('Directory below /data', { maxChars: 4096 }), '.'),
      },
      effect: 'local',
      timeoutMs: (timeoutMaxSeconds + 10) * 1000,
      run: async (values, context) => {
        const directory = await deps.files.directory(values.workdir)
        const ended = await runProgram({
          command: values.command,
          directory,
          environment: deps.environment,
          timeoutMs: values.timeout_s * 1000,
          signal: context.signal,
          clock: deps.clock,
        })
        const how = ended.signalName === null ? `exit code ${ended.code}` : `killed by ${ended.signalName}`
        const late = ended.timedOut ? ` after ${values.timeout_s} s: timeout` : ''
        return {
          output: `${how}${late}${tooLarge(ended)}${outOfMemory(ended)}\n${ended.output}`,
          ok: ended.code === 0 && !ended.timedOut,
        }
      },
    }),
  ]
}

/** Exit code of a shell whose command was ended by SIGXFSZ (25): a file became too large. */
const tooLargeExit = 128 + 25
const killedExit = 128 + 9

function outOfMemory({ code, signalName, timedOut }: ProgramEnd): string {
  return !timedOut && (signalName === 'SIGKILL' || code === killedExit)
    ? ': most likely killed by the kernel because the container ran out of memory'
    : ''
}

function tooLarge({ code, signalName }: ProgramEnd): string {
  return signalName === 'SIGXFSZ' || code === tooLargeExit
    ? ': it wrote a file larger than the limit of /data'
    : ''
}
