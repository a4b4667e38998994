/** Written by `npm run generate`: responses of a gateway in front of the demo's seed, by operation and status. */
export const responseExamples: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  "placeOrder": {
    "200": {
      "method": "POST",
      "path": "/order/api/order/v1/licenseOrder/batchOrder",
      "body": {
        "channelCode": "crm",
        "channelOrderId": "SO-2003",
        "orderList": [
          {
            "assets": [
              {
                "assetNos": [
                  "8000001009"
                ]
              }
            ],
            "customerId": "cus-harbour-default",
            "enterpriseGlobalId": "ent-harbour",
            "licenseType": "cloud_account",
            "orderType": "delete_asset",
            "sequence": 1,
            "srcLicenseOrderId": "lic-1009"
          }
        ],
        "syncMode": "sync"
      },
      "effects": [
        {
          "sequence": 1,
          "readable": true,
          "assets": [
            {
              "assetId": "ast-1009",
              "assetNum": "8000001009",
              "whole": true,
              "productUris": [
                "draft.pro"
              ]
            }
          ]
        }
      ]
    },
    "201": {
      "channelCode": "crm",
      "channelOrderId": "SO-2001",
      "state": "succeeded",
      "syncMode": "sync",
      "items": [
        {
          "sequence": 1,
          "orderType": "new_buy",
          "enterpriseGlobalId": "ent-harbour",
          "licenseOrderId": "9007199254740997",
          "customerId": "cus-harbour-default"
        }
      ],
      "submittedAt": "2026-11-20T08:00:00.000Z",
      "settledAt": "2026-11-20T08:00:00.000Z",
      "reason": null
    },
    "202": {
      "channelCode": "crm",
      "channelOrderId": "SO-2006",
      "state": "accepted",
      "syncMode": "async",
      "items": [
        {
          "sequence": 1,
          "orderType": "new_buy",
          "enterpriseGlobalId": "ent-harbour",
          "licenseOrderId": "9007199254740999",
          "customerId": "cus-harbour-default"
        }
      ],
      "submittedAt": "2026-11-20T08:00:00.000Z",
      "settledAt": null,
      "reason": null
    }
  },
  "listOrders": {
    "200": {
      "items": [
        {
          "channelCode": "crm",
          "channelOrderId": "SO-2006",
          "state": "accepted",
          "syncMode": "async",
          "items": [
            {
              "sequence": 1,
              "orderType": "new_buy",
              "enterpriseGlobalId": "ent-harbour",
              "licenseOrderId": "9007199254740999",
              "customerId": "cus-harbour-default"
            }
          ],
          "submittedAt": "2026-11-20T08:00:00.000Z",
          "settledAt": null,
          "reason": null
        },
        {
          "channelCode": "crm",
          "channelOrderId": "SO-2001",
          "state": "succeeded",
          "syncMode": "sync",
          "items": [
            {
              "sequence": 1,
              "orderType": "new_buy",
              "enterpriseGlobalId": "ent-harbour",
              "licenseOrderId": "9007199254740997",
              "customerId": "cus-harbour-default"
            }
          ],
          "submittedAt": "2026-11-20T08:00:00.000Z",
          "settledAt": "2026-11-20T08:00:00.000Z",
          "reason": null
        }
      ],
      "page": 1,
      "pageSize": 2,
      "total": 4,
      "totalPages": 2
    }
  },
  "getOrder": {
    "200": {
      "channelCode": "crm",
      "channelOrderId": "SO-2000",
      "state": "succeeded",
      "syncMode": "sync",
      "items": [
        {
          "sequence": 1,
          "orderType": "new_buy",
          "enterpriseGlobalId": "ent-harbour",
          "licenseOrderId": "9007199254740993",
          "customerId": "cus-harbour-default"
        }
      ],
      "submittedAt": "2026-11-20T08:00:00.000Z",
      "settledAt": "2026-11-20T08:00:00.000Z",
      "reason": null
    }
  },
  "getOrderAssets": {
    "200": {
      "items": [
        {
          "sequence": 1,
          "licenseOrderId": "9007199254740993",
          "assetId": "9307199254740993",
          "assetNum": "8500000001",
          "productUris": [
            "draft.view"
          ]
        }
      ],
      "page": 1,
      "pageSize": 2,
      "total": 1,
      "totalPages": 1
    }
  },
  "settleOrder": {
    "200": {
      "channelCode": "crm",
      "channelOrderId": "SO-2010",
      "state": "succeeded",
      "syncMode": "sync",
      "items": [
        {
          "sequence": 1,
          "orderType": "new_buy",
          "enterpriseGlobalId": null,
          "licenseOrderId": null,
          "customerId": null
        }
      ],
      "submittedAt": "2026-11-20T08:00:00.000Z",
      "settledAt": "2026-11-20T08:00:00.000Z",
      "reason": "Found in the list of assets, ticket 4711"
    }
  },
  "listJobs": {
    "200": {
      "items": [
        {
          "jobId": "qMPWvUsoAeaDlpuX96LUZA",
          "kind": "import",
          "mode": "add",
          "enterpriseGlobalId": "ent-harbour",
          "state": "completed",
          "total": 1,
          "done": 1,
          "succeeded": 0,
          "updated": 0,
          "unchanged": 0,
          "deleted": 0,
          "failed": 1,
          "unknown": 0,
          "createdAt": "2026-11-20T08:00:00.000Z",
          "startedAt": "2026-11-20T08:00:00.000Z",
          "finishedAt": "2026-11-20T08:00:00.000Z",
          "expiresAt": "2026-11-27T08:00:00.000Z",
          "problem": null
        }
      ],
      "page": 1,
      "pageSize": 2,
      "total": 1,
      "totalPages": 1
    }
  },
  "getJob": {
    "200": {
      "jobId": "qMPWvUsoAeaDlpuX96LUZA",
      "kind": "import",
      "mode": "add",
      "enterpriseGlobalId": "ent-harbour",
      "state": "completed",
      "total": 1,
      "done": 1,
      "succeeded": 0,
      "updated": 0,
      "unchanged": 0,
      "deleted": 0,
      "failed": 1,
      "unknown": 0,
      "createdAt": "2026-11-20T08:00:00.000Z",
      "startedAt": "2026-11-20T08:00:00.000Z",
      "finishedAt": "2026-11-20T08:00:00.000Z",
      "expiresAt": "2026-11-27T08:00:00.000Z",
      "problem": null
    }
  },
  "cancelJob": {
    "202": {
      "jobId": "qMPWvUsoAeaDlpuX96LUZA",
      "kind": "import",
      "mode": "add",
      "enterpriseGlobalId": "ent-harbour",
      "state": "completed",
      "total": 1,
      "done": 1,
      "succeeded": 0,
      "updated": 0,
      "unchanged": 0,
      "deleted": 0,
      "failed": 1,
      "unknown": 0,
      "createdAt": "2026-11-20T08:00:00.000Z",
      "startedAt": "2026-11-20T08:00:00.000Z",
      "finishedAt": "2026-11-20T08:00:00.000Z",
      "expiresAt": "2026-11-27T08:00:00.000Z",
      "problem": null
    }
  },
  "getCaller": {
    "200": {
      "name": "demo",
      "scopes": [
        "orders:read",
        "orders:write",
        "orders:revoke",
        "orders:settle",
        "customers:write",
        "locks:write",
        "members:read",
        "members:write",
        "sessions:write",
        "gaps:read"
      ],
      "enterprises": [
        "*"
      ],
      "channels": [
        "crm"
      ],
      "users": [
        "default"
      ],
      "rateLimit": null
    }
  },
  "listGaps": {
    "200": {
      "items": [
        {
          "operation": "listAssets",
          "path": "data[].keyChipType",
          "kind": "wrong-type",
          "count": 1,
          "firstSeenAt": "2026-11-20T08:00:00.000Z",
          "lastSeenAt": "2026-11-20T08:00:00.000Z"
        }
      ],
      "page": 1,
      "pageSize": 2,
      "total": 1,
      "totalPages": 1
    }
  },
  "live": {
    "200": {
      "status": "ok"
    }
  },
  "ready": {
    "200": {
      "status": "ok",
      "redis": "off",
      "orders": "up",
      "tokens": "up",
      "upstream": "up",
      "load": "ok"
    }
  },
  "listProblems": {
    "200": {
      "items": [
        {
          "type": "/problems/validation-failed",
          "code": "validation-failed",
          "title": "The request is not valid",
          "statuses": [
            400
          ],
          "outcome": "not_processed",
          "outcomeVaries": false,
          "retryable": false,
          "meaning": "The body, a query parameter, a path segment or a header breaks a rule. Nothing was sent to the platform.",
          "remedy": "`errors` lists every fault with a JSON pointer or a parameter name. Correct all of them and send the request again."
        },
        {
          "type": "/problems/unauthenticated",
          "code": "unauthenticated",
          "title": "No valid credentials",
          "statuses": [
            401
          ],
          "outcome": "not_processed",
          "outcomeVaries": false,
          "retryable": false,
          "meaning": "The request has no API key and no token, an invalid key or token, or a key and a token at once.",
          "remedy": "Send the key in the header `X-Api-Key`, or a token in `Authorization: Bearer`. A removed key and an expired token are not valid any more."
        }
      ]
    }
  },
  "getProblem": {
    "200": {
      "type": "/problems/outcome-unknown",
      "code": "outcome-unknown",
      "title": "The outcome of the write is unknown",
      "statuses": [
        502,
        504
      ],
      "outcome": "unknown",
      "outcomeVaries": true,
      "retryable": false,
      "meaning": "The gateway sent the write, and then the answer was lost (504 when time ran out) or unreadable (502), or the platform reported a fault that leaves the outcome open. `retryable` is true only for writes that have the same effect when repeated.",
      "remedy": "Read the current state before you send the write again. Never repeat an order under another number. An order with the outcome `processed` was placed, but the platform did not name all of its licence orders."
    }
  },
  "createSession": {
    "201": {
      "sessionId": "example-session",
      "expiresAt": "2026-11-20T20:00:00.000Z"
    }
  },
  "getSession": {
    "200": {
      "username": "chen@harbour",
      "createdAt": "2026-11-20T08:00:00.000Z",
      "expiresAt": "2026-11-20T20:00:00.000Z"
    }
  },
  "bindCustomer": {
    "201": {
      "customerId": "9107199254740993",
      "channelCode": "crm",
      "channelCustomerId": "CH-2001",
      "enterpriseGlobalId": "9207199254740993",
      "enterpriseName": "Northwind Survey",
      "isDefault": true
    }
  },
  "findCustomers": {
    "200": {
      "items": [
        {
          "customerId": "cus-harbour-default",
          "channelCode": "crm",
          "channelCustomerId": "CH-1001",
          "enterpriseGlobalId": "ent-harbour",
          "enterpriseName": "Harbour Engineering",
          "isDefault": true
        },
        {
          "customerId": "cus-harbour-yard",
          "channelCode": "crm",
          "channelCustomerId": "CH-1002",
          "enterpriseGlobalId": "ent-harbour",
          "enterpriseName": "Harbour Engineering",
          "isDefault": false
        }
      ],
      "page": 1,
      "pageSize": 2,
      "total": 3,
      "totalPages": 2
    }
  },
  "createEnterprise": {
    "201": {
      "enterpriseGlobalId": "9207199254740993",
      "isDefault": true,
      "members": [
        {
          "memberGlobalId": "mem-9607199254740993",
          "memberIdentity": "admin@ent0001"
        },
        {
          "memberGlobalId": "mem-9607199254740995",
          "memberIdentity": "user@ent0001"
        }
      ]
    }
  },
  "listAssets": {
    "200": {
      "items": [
        {
          "assetId": "ast-1001",
          "licenseType": "softkey",
          "assetNum": "8000001001",
          "grantable": true,
          "customerId": "cus-harbour-default",
          "keyShellNumber": "8000001001",
          "keyGeneration": null,
          "locked": false,
          "frozen": false,
          "createdAt": "2026-01-05T08:00:00.000Z",
          "updatedAt": "2026-01-05T08:00:00.000Z",
          "startsAt": null,
          "endsAt": "2099-12-31T00:00:00.000Z",
          "assignment": {
            "status": "unassigned",
            "memberGlobalId": null,
            "createdAt": null,
            "updatedAt": null
          },
          "assetLimits": null,
          "extensions": [
            {
              "code": "site",
              "value": "pier-1"
            }
          ],
          "lentLock": false
        },
        {
          "assetId": "ast-1002",
          "licenseType": "cloud_account",
          "assetNum": "8000001002",
          "grantable": true,
          "customerId": "cus-harbour-default",
          "keyShellNumber": "8000001002",
          "keyGeneration": null,
          "locked": false,
          "frozen": false,
          "createdAt": "2026-01-05T08:00:00.000Z",
          "updatedAt": "2026-01-05T08:00:00.000Z",
          "startsAt": null,
          "endsAt": null,
          "assignment": {
            "status": "assigned",
            "memberGlobalId": "mem-harbour-anna",
            "createdAt": "2026-01-05T08:00:00.000Z",
            "updatedAt": null
          },
          "assetLimits": null,
          "extensions": [],
          "lentLock": false
        }
      ],
      "page": 1,
      "pageSize": 2,
      "total": 12,
      "totalPages": 6
    }
  },
  "getAsset": {
    "200": {
      "assetId": "ast-1002",
      "licenseType": "cloud_account",
      "assetNum": "8000001002",
      "grantable": true,
      "customerId": "cus-harbour-default",
      "keyShellNumber": "8000001002",
      "keyGeneration": null,
      "locked": false,
      "frozen": false,
      "createdAt": "2026-01-05T08:00:00.000Z",
      "updatedAt": "2026-01-05T08:00:00.000Z",
      "startsAt": null,
      "endsAt": null,
      "assignment": {
        "status": "assigned",
        "memberGlobalId": "mem-harbour-anna",
        "createdAt": "2026-01-05T08:00:00.000Z",
        "updatedAt": null
      },
      "assetLimits": null,
      "extensions": [],
      "lentLock": false
    }
  },
  "disableLocks": {
    "200": {
      "items": [
        {
          "assetNum": "8000001003",
          "status": "succeeded"
        }
      ],
      "succeeded": 1,
      "failed": 0
    },
    "207": {
      "items": [
        {
          "assetNum": "8000001003",
          "status": "succeeded"
        },
        {
          "assetNum": "8000009999",
          "status": "not_found"
        }
      ],
      "succeeded": 1,
      "failed": 1
    }
  },
  "enableLocks": {
    "200": {
      "items": [
        {
          "assetNum": "8000001003",
          "status": "succeeded"
        }
      ],
      "succeeded": 1,
      "failed": 0
    },
    "207": {
      "items": [
        {
          "assetNum": "8000001003",
          "status": "succeeded"
        },
        {
          "assetNum": "8000009999",
          "status": "not_found"
        }
      ],
      "succeeded": 1,
      "failed": 1
    }
  },
  "reserveAssetNums": {
    "201": {
      "requested": 2,
      "items": [
        {
          "keyShellNumber": "8500000001",
          "region": "domestic"
        },
        {
          "keyShellNumber": "8500000002",
          "region": "domestic"
        }
      ]
    }
  },
  "retryJob": {
    "202": {
      "jobId": "qMPWvUsoAeaDlpuX96LUZA",
      "kind": "import",
      "mode": "add",
      "enterpriseGlobalId": "ent-harbour",
      "state": "queued",
      "total": 1,
      "done": 0,
      "succeeded": 0,
      "updated": 0,
      "unchanged": 0,
      "deleted": 0,
      "failed": 0,
      "unknown": 0,
      "createdAt": "2026-11-20T08:00:00.000Z",
      "startedAt": null,
      "finishedAt": null,
      "expiresAt": "2026-11-27T08:00:00.000Z",
      "problem": null
    }
  },
  "importMembers": {
    "200": {
      "add": 2,
      "update": 0,
      "unchanged": 0,
      "delete": [],
      "fail": [
        "anna"
      ]
    },
    "202": {
      "jobId": "qMPWvUsoAeaDlpuX96LUZA",
      "kind": "import",
      "mode": "add",
      "enterpriseGlobalId": "ent-harbour",
      "state": "queued",
      "total": 3,
      "done": 0,
      "succeeded": 0,
      "updated": 0,
      "unchanged": 0,
      "deleted": 0,
      "failed": 0,
      "unknown": 0,
      "createdAt": "2026-11-20T08:00:00.000Z",
      "startedAt": null,
      "finishedAt": null,
      "expiresAt": "2026-11-27T08:00:00.000Z",
      "problem": null
    }
  },
  "addMembers": {
    "201": {
      "succeeded": [
        {
          "memberId": "9607199254740993",
          "userId": "9707199254740993",
          "memberGlobalId": "mem-9607199254740993",
          "enterpriseId": "1001",
          "departmentId": "10",
          "departmentName": "Design",
          "userName": "evan@harbour",
          "name": "Evan Hart",
          "remark": null,
          "passwordMobile": null,
          "assetNums": [],
          "lentLockNum": null,
          "online": null,
          "deleted": false,
          "createdAt": "2026-11-20T08:00:00.000Z",
          "updatedAt": "2026-11-20T08:00:00.000Z",
          "boundUserInfo": null
        },
        {
          "memberId": "9607199254740995",
          "userId": "9707199254740995",
          "memberGlobalId": "mem-9607199254740995",
          "enterpriseId": "1001",
          "departmentId": "9007199254741001",
          "departmentName": "Surveying",
          "userName": "fay@harbour",
          "name": "Fay Lund",
          "remark": "Second floor",
          "passwordMobile": null,
          "assetNums": [],
          "lentLockNum": null,
          "online": null,
          "deleted": false,
          "createdAt": "2026-11-20T08:00:00.000Z",
          "updatedAt": "2026-11-20T08:00:00.000Z",
          "boundUserInfo": null
        }
      ],
      "failed": []
    },
    "207": {
      "succeeded": [
        {
          "memberId": "9607199254740993",
          "userId": "9707199254740993",
          "memberGlobalId": "mem-9607199254740993",
          "enterpriseId": "1001",
          "departmentId": null,
          "departmentName": null,
          "userName": "evan@harbour",
          "name": "Evan Hart",
          "remark": null,
          "passwordMobile": null,
          "assetNums": [],
          "lentLockNum": null,
          "online": null,
          "deleted": false,
          "createdAt": "2026-11-20T08:00:00.000Z",
          "updatedAt": "2026-11-20T08:00:00.000Z",
          "boundUserInfo": null
        }
      ],
      "failed": [
        {
          "index": 1,
          "account": "anna",
          "retryable": false,
          "code": "upstream-rejected",
          "message": "the account exists already",
          "outcome": "not_processed"
        }
      ]
    }
  },
  "listMembers": {
    "200": {
      "items": [
        {
          "memberId": "3001",
          "userId": "4001",
          "memberGlobalId": "mem-harbour-admin",
          "enterpriseId": "1001",
          "departmentId": null,
          "departmentName": null,
          "userName": "admin@harbour",
          "name": "Ada Harbour",
          "remark": null,
          "passwordMobile": null,
          "assetNums": [],
          "lentLockNum": null,
          "online": false,
          "deleted": false,
          "createdAt": "2026-01-05T08:00:00.000Z",
          "updatedAt": "2026-01-05T08:00:00.000Z",
          "boundUserInfo": null
        },
        {
          "memberId": "3002",
          "userId": "4002",
          "memberGlobalId": "mem-harbour-anna",
          "enterpriseId": "1001",
          "departmentId": "10",
          "departmentName": "Design",
          "userName": "anna@harbour",
          "name": "Anna Lindqvist",
          "remark": "on site",
          "passwordMobile": "13800000002",
          "assetNums": [
            "8000001002"
          ],
          "lentLockNum": null,
          "online": true,
          "deleted": false,
          "createdAt": "2026-01-05T08:00:00.000Z",
          "updatedAt": "2026-01-05T08:00:00.000Z",
          "boundUserInfo": null
        }
      ],
      "page": 1,
      "pageSize": 2,
      "total": 6,
      "totalPages": 3
    }
  },
  "getMember": {
    "200": {
      "memberId": "3002",
      "userId": "4002",
      "memberGlobalId": "mem-harbour-anna",
      "enterpriseId": "1001",
      "departmentId": "10",
      "departmentName": "Design",
      "userName": "anna@harbour",
      "name": "Anna Lindqvist",
      "remark": "on site",
      "passwordMobile": "13800000002",
      "assetNums": [
        "8000001002"
      ],
      "lentLockNum": null,
      "online": true,
      "deleted": false,
      "createdAt": "2026-01-05T08:00:00.000Z",
      "updatedAt": "2026-01-05T08:00:00.000Z",
      "boundUserInfo": null
    }
  },
  "listAssetNums": {
    "200": {
      "items": [
        {
          "assetNum": "8000001001",
          "assetId": "ast-1001",
          "memberGlobalId": null,
          "lent": false,
          "online": false
        },
        {
          "assetNum": "8000001002",
          "assetId": "ast-1002",
          "memberGlobalId": "mem-harbour-anna",
          "lent": false,
          "online": true
        }
      ],
      "page": 1,
      "pageSize": 2,
      "total": 12,
      "totalPages": 6
    }
  },
  "listLentLocks": {
    "200": {
      "items": [
        {
          "assetId": "ast-1006",
          "assetNum": "8000001006",
          "lent": false,
          "memberGlobalId": null
        },
        {
          "assetId": "ast-1007",
          "assetNum": "8000001007",
          "lent": true,
          "memberGlobalId": "mem-harbour-chen"
        }
      ],
      "page": 1,
      "pageSize": 2,
      "total": 2,
      "totalPages": 1
    }
  },
  "getAssetProducts": {
    "200": {
      "products": [
        {
          "id": "prd-5002-1",
          "licenseType": "cloud_account",
          "customerId": "cus-harbour-default",
          "assetId": "ast-1002",
          "assetInsId": "ast-1002",
          "merchandiseInsId": null,
          "assetNum": "8000001002",
          "productUri": "cloud.model",
          "gmsPid": "gms-cloud-model",
          "appKey": null,
          "productName": "Product cloud.model",
          "channelCode": "crm",
          "licenseOrderId": "lic-5002",
          "channelOrderId": "SO-0002",
          "startsAt": "2026-01-05T08:00:00.000Z",
          "endsAt": "2099-12-31T00:00:00.000Z",
          "limitAmount": 0,
          "limitConcurrent": 1,
          "limitTimeDuration": "0",
          "trial": false,
          "trialEndsAt": null,
          "limitType": "basic",
          "prodDefExtend": false,
          "timeDurationExpression": null,
          "srcLicenseOrderId": null,
          "createdAt": "2026-01-05T08:00:00.000Z",
          "updatedAt": null,
          "active": true,
          "crmProductId": "CP-SO-0002-1",
          "productExtendInstanceList": []
        },
        {
          "id": "prd-5003-1",
          "licenseType": "cloud_account",
          "customerId": "cus-harbour-default",
          "assetId": "ast-1002",
          "assetInsId": "ast-1002",
          "merchandiseInsId": null,
          "assetNum": "8000001002",
          "productUri": "cloud.model",
          "gmsPid": "gms-cloud-model",
          "appKey": null,
          "productName": "Product cloud.model",
          "channelCode": "crm",
          "licenseOrderId": "lic-5003",
          "channelOrderId": "SO-0003",
          "startsAt": "2026-01-05T08:00:00.000Z",
          "endsAt": "2099-12-31T00:00:00.000Z",
          "limitAmount": 0,
          "limitConcurrent": 5,
          "limitTimeDuration": "0",
          "trial": false,
          "trialEndsAt": null,
          "limitType": "basic",
          "prodDefExtend": false,
          "timeDurationExpression": null,
          "srcLicenseOrderId": null,
          "createdAt": "2026-01-05T08:00:00.000Z",
          "updatedAt": null,
          "active": true,
          "crmProductId": "CP-SO-0003-1",
          "productExtendInstanceList": []
        }
      ],
      "merchandises": [
        {
          "id": "mer-5002-suite",
          "licenseType": "cloud_account",
          "merchandiseNum": "PKG-SUITE",
          "merchandiseName": "Package suite",
          "parentId": null,
          "parentMerchandiseNum": null,
          "customerId": "cus-harbour-default",
          "licenseOrderId": "lic-5002",
          "channelOrderId": "SO-0002",
          "createdAt": "2026-01-05T08:00:00.000Z",
          "updatedAt": null,
          "channelCode": "crm",
          "timeDurationExpression": "1-0-0",
          "srcLicenseOrderId": null,
          "children": [
            {
              "id": "mer-5002-extras",
              "licenseType": "cloud_account",
              "merchandiseNum": "PKG-EXTRAS",
              "merchandiseName": "Package extras",
              "parentId": "mer-5002-suite",
              "parentMerchandiseNum": "PKG-SUITE",
              "customerId": "cus-harbour-default",
              "licenseOrderId": "lic-5002",
              "channelOrderId": "SO-0002",
              "createdAt": "2026-01-05T08:00:00.000Z",
              "updatedAt": null,
              "channelCode": "crm",
              "timeDurationExpression": "1-0-0",
              "srcLicenseOrderId": null,
              "children": [],
              "products": [
                {
                  "id": "prd-5002-3",
                  "licenseType": "cloud_account",
                  "customerId": "cus-harbour-default",
                  "assetId": "ast-1002",
                  "assetInsId": "ast-1002",
                  "merchandiseInsId": "mer-5002-extras",
                  "assetNum": "8000001002",
                  "productUri": "cloud.share",
                  "gmsPid": "gms-cloud-share",
                  "appKey": null,
                  "productName": "Product cloud.share",
                  "channelCode": "crm",
                  "licenseOrderId": "lic-5002",
                  "channelOrderId": "SO-0002",
                  "startsAt": "2026-01-05T08:00:00.000Z",
                  "endsAt": "2099-12-31T00:00:00.000Z",
                  "limitAmount": 0,
                  "limitConcurrent": 2,
                  "limitTimeDuration": "0",
                  "trial": true,
                  "trialEndsAt": "2099-12-31T00:00:00.000Z",
                  "limitType": "basic",
                  "prodDefExtend": false,
                  "timeDurationExpression": null,
                  "srcLicenseOrderId": null,
                  "createdAt": "2026-01-05T08:00:00.000Z",
                  "updatedAt": null,
                  "active": true,
                  "crmProductId": "CP-SO-0002-3",
                  "productExtendInstanceList": []
                }
              ]
            }
          ],
          "products": [
            {
              "id": "prd-5002-2",
              "licenseType": "cloud_account",
              "customerId": "cus-harbour-default",
              "assetId": "ast-1002",
              "assetInsId": "ast-1002",
              "merchandiseInsId": "mer-5002-suite",
              "assetNum": "8000001002",
              "productUri": "cloud.render",
              "gmsPid": "gms-cloud-render",
              "appKey": null,
              "productName": "Product cloud.render",
              "channelCode": "crm",
              "licenseOrderId": "lic-5002",
              "channelOrderId": "SO-0002",
              "startsAt": "2026-01-05T08:00:00.000Z",
              "endsAt": "2099-12-31T00:00:00.000Z",
              "limitAmount": 0,
              "limitConcurrent": 2,
              "limitTimeDuration": "0",
              "trial": false,
              "trialEndsAt": null,
              "limitType": "basic",
              "prodDefExtend": false,
              "timeDurationExpression": null,
              "srcLicenseOrderId": null,
              "createdAt": "2026-01-05T08:00:00.000Z",
              "updatedAt": null,
              "active": true,
              "crmProductId": "CP-SO-0002-2",
              "productExtendInstanceList": []
            }
          ]
        }
      ]
    }
  },
  "setMemberAssetNums": {
    "200": {
      "assigned": [
        "8000001004"
      ],
      "withdrawn": [],
      "kept": [
        "8000001002"
      ]
    }
  },
  "changeMemberAssetNums": {
    "200": {
      "assigned": [
        "8000001004"
      ],
      "withdrawn": [],
      "kept": []
    }
  },
  "getOverview": {
    "200": {
      "enterpriseGlobalId": "ent-harbour",
      "members": {
        "total": 6
      },
      "assetNums": {
        "total": 12,
        "assigned": 4,
        "free": 8,
        "lent": 2,
        "online": 1
      },
      "lentLocks": {
        "total": 2
      },
      "assets": {
        "total": 12,
        "byLicenseType": {
          "softkey": 1,
          "cloud_account": 3,
          "normal_recover_usbkey": 3,
          "normal_unrecover_usbkey": 1,
          "normal_unrecover_lan_usbkey": 1,
          "normal_recover_lan_usbkey": 2,
          "lan_softkey": 1
        },
        "locked": 1,
        "frozen": 1,
        "expired": 1,
        "expiringSoon": 0
      },
      "unreachable": []
    }
  }
};
