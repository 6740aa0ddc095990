import type { CallResponse, ShellBridge } from '../../../main/contract/calls.ts';
import type { ErrorBody } from '../../../main/contract/errors.ts';

/** What is being read when the page (re)connects, in order. */
export type ConnectStep = 'host' | 'settings' | 'engines' | 'runtime' | 'jobs';

export interface ConnectionSlice {
  connection:
    | { status: 'connecting'; step: ConnectStep; since: number }
    | { status: 'ready' }
    | { status: 'lost'; error: ErrorBody };
  shell: ShellBridge['shell'];
  host: CallResponse<'host.info'> | null;
}

export const connectionSlice = (shell: ShellBridge['shell'], since: number): ConnectionSlice => ({
  connection: { status: 'connecting', step: 'host', since },
  shell,
  host: null,
});
