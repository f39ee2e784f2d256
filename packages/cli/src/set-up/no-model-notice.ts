/** That agents have nothing to think with, and the way to it. Pure. */
export function noModelNotice(command: string): string {
  return `No model is set up yet: choose one with ${command} init`
}
