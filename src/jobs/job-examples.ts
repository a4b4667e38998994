/** Examples for the OpenAPI document. The files work in the demo unchanged; the streams are what the demo answers. */

const HEADER = 'account,password,name,departmentId,remark,passwordMobile';

export const importFile = {
  description:
    'The rows: a header line with the names of the fields of `addMembers`, or one JSON object in each line',
  csv: {
    three: {
      summary: 'Two new members, and one who exists',
      value: [
        HEADER,
        'gus,first-login-1,Gus Rand,10,,',
        'hana,first-login-2,Hana Vik,9007199254741001,"Second floor, left",13800000003',
        'anna,first-login-3,Anna Berg,10,,',
        '',
      ].join('\n'),
    },
  },
  ndjson: {
    two: {
      summary: 'Two new members',
      value: [
        '{"account":"ivar","password":"first-login-1","name":"Ivar Moe","departmentId":"10"}',
        '{"account":"jill","password":"first-login-2","name":"Jill Dahl","remark":"Second floor, left"}',
        '',
      ].join('\n'),
    },
  },
};

export const retryFile = {
  description: 'The rows that failed, corrected, with their passwords: the job does not keep them',
  csv: {
    one: {
      summary: "The row of the demo's import that failed",
      value: [HEADER, 'anna,first-login-3,Anna Berg,10,,', ''].join('\n'),
    },
  },
  ndjson: {
    one: {
      summary: "The row of the demo's import that failed",
      value: '{"account":"anna","password":"first-login-3","name":"Anna Berg","departmentId":"10"}\n',
    },
  },
};

export const rowsExample = {
  csv:
    'row,account,status,code,message,memberGlobalId\r\n' +
    '1,anna,failed,upstream-rejected,A member with this account exists already.,mem-harbour-anna\r\n',
  ndjson:
    '{"row":1,"account":"anna","status":"failed","code":"upstream-rejected","message":"A member with this account exists already.","memberGlobalId":"mem-harbour-anna"}\n',
};

export const exportExample = {
  csv:
    'memberGlobalId,userName,name,departmentId,departmentName,remark,passwordMobile,assetNums,lentLockNum,online,createdAt,updatedAt\r\n' +
    'mem-harbour-anna,anna@harbour,Anna Berg,10,Design,,13800000001,8000001002,,true,2026-01-05T08:00:00.000Z,2026-01-05T08:00:00.000Z\r\n',
  ndjson:
    '{"memberId":"9007199254740997","userId":"2","memberGlobalId":"mem-harbour-anna","enterpriseId":"1","departmentId":"10","departmentName":"Design","userName":"anna@harbour","name":"Anna Berg","remark":null,"passwordMobile":"13800000001","assetNums":["8000001002"],"lentLockNum":null,"online":true,"deleted":false,"createdAt":"2026-01-05T08:00:00.000Z","updatedAt":"2026-01-05T08:00:00.000Z","boundUserInfo":null}\n',
};

export const eventsExample =
  'id: 4\nevent: progress\ndata: {"jobId":"qMPWvUsoAeaDlpuX96LUZA","kind":"import","mode":"add","enterpriseGlobalId":"ent-harbour","state":"running","total":3,"done":1,"succeeded":0,"updated":0,"unchanged":0,"deleted":0,"failed":1,"unknown":0,"createdAt":"2026-11-20T08:00:00.000Z","startedAt":"2026-11-20T08:00:00.000Z","finishedAt":null,"expiresAt":"2026-11-27T08:00:00.000Z","problem":null}\n\n' +
  'id: 6\nevent: done\ndata: {"jobId":"qMPWvUsoAeaDlpuX96LUZA","kind":"import","mode":"add","enterpriseGlobalId":"ent-harbour","state":"completed","total":3,"done":3,"succeeded":2,"updated":0,"unchanged":0,"deleted":0,"failed":1,"unknown":0,"createdAt":"2026-11-20T08:00:00.000Z","startedAt":"2026-11-20T08:00:00.000Z","finishedAt":"2026-11-20T08:00:01.000Z","expiresAt":"2026-11-27T08:00:00.000Z","problem":null}\n\n';
