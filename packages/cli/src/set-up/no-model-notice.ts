/** That agents have nothing to think with, and the way to it. */
export const noModelNotice = 'No model is set up yet: choose one with flotilla init'
